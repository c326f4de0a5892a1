import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads verdicts and prints what an indexer does with each page. */
public class Consumer {
    private static final int FORMAT_VERSION = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 3 || arguments.length > 4) {
            System.err.println("usage: Consumer.java BROKERS TOPIC GROUP [COUNT]");
            System.exit(2);
        }
        long left = arguments.length == 4 ? Long.parseLong(arguments[3]) : Long.MAX_VALUE;
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0],
            "group.id", arguments[2],
            "isolation.level", "read_committed",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            // At most as many as are processed before the commit.
            "max.poll.records", (int) Math.min(left, 500));
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Thread reading = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(consumer, reading)));
            consumer.subscribe(List.of(arguments[1]));
            while (left > 0) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    action(record).ifPresent(System.out::println);
                    left--;
                }
                consumer.commitSync();
            }
        } catch (WakeupException stopped) {
            // Verdicts that were not committed come again.
        }
    }

    /** Returns what to do with a page, by the headers alone if they are enough. */
    private static Optional<String> action(ConsumerRecord<byte[], byte[]> record) throws IOException {
        if (Integer.parseInt(header(record, "leitong.format.version")) > FORMAT_VERSION) {
            throw new IOException("this verdict has a newer format: update this program");
        }
        String page = header(record, "leitong.page.id");
        String kind = header(record, "leitong.kind");
        if (kind.equals("UNIQUE") || header(record, "leitong.same.url").equals("true")) {
            return Optional.of("store " + page);
        }
        JsonNode verdict = JSON.readTree(record.value());
        if (kind.equals("UNDECIDABLE")) {
            return Optional.of("leave " + page + " " + verdict.get("reason").asText());
        }
        if (kind.endsWith("_DUPLICATE")) {
            return Optional.of("skip " + page + " " + verdict.get("canonical_page_id").asText());
        }
        return Optional.empty();
    }

    private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    private static void stop(KafkaConsumer<byte[], byte[]> consumer, Thread reading) {
        consumer.wakeup();
        try {
            reading.join(10_000);
        } catch (InterruptedException impatient) {
            Thread.currentThread().interrupt();
        }
    }
}
