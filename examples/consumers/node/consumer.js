// Reads verdicts and prints what an indexer does with each page.
//
// usage: node consumer.js BROKERS TOPIC GROUP [COUNT]

import kafkajs from 'kafkajs'
import lz4 from 'lz4-napi'

const FORMAT_VERSION = 1

// KafkaJS does not include LZ4, with which verdicts are compressed.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer)
})

/** Returns what to do with a page, by the headers alone if they are enough. */
function action (headers, value) {
  const header = name => headers[name].toString()
  if (Number(header('leitong.format.version')) > FORMAT_VERSION) {
    throw new Error('this verdict has a newer format: update this program')
  }
  const page = header('leitong.page.id')
  const kind = header('leitong.kind')
  if (kind === 'UNIQUE' || header('leitong.same.url') === 'true') return `store ${page}`
  const verdict = JSON.parse(value)
  if (kind === 'UNDECIDABLE') return `leave ${page} ${verdict.reason}`
  if (kind.endsWith('_DUPLICATE')) return `skip ${page} ${verdict.canonical_page_id}`
  return null
}

const [brokers, topic, group, count] = process.argv.slice(2)
if (!group) {
  console.error('usage: node consumer.js BROKERS TOPIC GROUP [COUNT]')
  process.exit(2)
}
let left = count ? Number(count) : Infinity

const kafka = new kafkajs.Kafka({
  clientId: 'leitong-consumer',
  brokers: brokers.split(','),
  logLevel: kafkajs.logLevel.ERROR
})
// `readUncommitted` is false by default: KafkaJS' name for isolation.level=read_committed.
const consumer = kafka.consumer({ groupId: group, readUncommitted: false })
let end
const ended = new Promise(resolve => { end = resolve })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end())
// An error that cannot be retried.
consumer.on(consumer.events.CRASH, event => {
  if (!event.payload.restart) {
    process.exitCode = 1
    end()
  }
})
await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
await consumer.run({
  autoCommit: false,
  eachMessage: async ({ partition, message }) => {
    if (left <= 0) return
    const line = action(message.headers, message.value)
    if (line) console.log(line)
    // One commit per message is slow. A consumer that works in batches commits once per batch.
    await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(message.offset) + 1n) }])
    left -= 1
    if (left <= 0) end()
  }
})
await ended
await consumer.disconnect()
