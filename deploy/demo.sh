#!/usr/bin/env bash
# `make demo-kafka`: starts a broker and two workers, writes the sample pages, and prints their verdicts. Everything runs
# on the loopback interface and ends with this script. Only target/kafka with Kafka's jars remains.
set -euo pipefail
cd "$(dirname "$0")/.."

# LEITONG names another program, such as a release candidate.
leitong=${LEITONG:-target/release/leitong}
pages=examples/pages.jsonl
jars=${CARGO_TARGET_DIR:-target}/kafka
run=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$run"
}
trap finish EXIT
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
kafka() { java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars/lib/*" "$@"; }

# The same jars that the tests use.
tools/test-tools.sh java kafka

say "Starting a broker"
port=${KAFKA_DEMO_PORT:-19092}
controller=$((port + 1))
cat > "$run/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$run/kafka
auto.create.topics.enable=false
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
PROPERTIES
kafka kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c "$run/server.properties" > "$run/broker.log" 2>&1
java -Xmx512m -XX:+UseSerialGC -cp "$jars/lib/*" kafka.Kafka "$run/server.properties" >> "$run/broker.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
  (: < "/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "${pids[0]}" 2>/dev/null || { cat "$run/broker.log"; echo "the broker has ended; is port $port in use? KAFKA_DEMO_PORT takes another"; exit 1; }
  sleep 0.2
done

printf '[kafka]\nbootstrap_servers = "127.0.0.1:%s"\n[admin]\naddress = "127.0.0.1:0"\n' "$port" > "$run/leitong.toml"
say "\$ leitong topics create --config leitong.toml"
"$leitong" topics create --config "$run/leitong.toml"

say "Two workers:  \$ leitong run --config leitong.toml"
for worker in 1 2; do
  "$leitong" run --config "$run/leitong.toml" 2> "$run/worker$worker.log" &
  pids+=($!)
done
admin() { sed 's/\x1b\[[0-9;]*m//g' "$run/worker$1.log" | sed -n 's|.*admin port: http://\([^ ]*\).*|\1|p'; }
get() {
  local address; address=$(admin "$1")
  exec 3<> "/dev/tcp/${address%:*}/${address##*:}"
  printf 'GET %s HTTP/1.1\r\nHost: demo\r\n\r\n' "$2" >&3
  cat <&3
  exec 3>&-
}
for worker in 1 2; do
  for _ in $(seq 300); do
    { [ -n "$(admin $worker)" ] && get $worker /readyz 2>/dev/null | grep -q '^ok'; } && break
    sleep 0.2
  done
  get $worker /readyz | grep -q '^ok' || { cat "$run/worker$worker.log"; exit 1; }
  echo "worker $worker is ready, metrics at http://$(admin $worker)/metrics"
done

count=$(wc -l < "$pages")
say "A crawler writes $count pages to leitong.pages (Kafka's console producer), an index builder reads leitong.verdicts"
kafka org.apache.kafka.tools.ConsoleProducer --bootstrap-server "127.0.0.1:$port" --topic leitong.pages < "$pages" 2>> "$run/tools.log"
kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "127.0.0.1:$port" --topic leitong.verdicts --from-beginning \
  --isolation-level read_committed --max-messages "$count" --timeout-ms 60000 > "$run/verdicts.jsonl" 2>> "$run/tools.log" \
  || { cat "$run"/*.log; exit 1; }
echo
sed -nE 's/^\{"page_id":"([^"]*)".*"kind":"([A-Z]*_DUPLICATE)".*"canonical_page_id":"([^"]*)".*"distance":([0-9]*).*/\1|\2|\3|distance \4/p' \
  "$run/verdicts.jsonl" | { echo "page|verdict|is a copy of|"; sort; } | column -t -s '|'
echo "and $(grep -c '"kind":"UNIQUE"' "$run/verdicts.jsonl") unique, $(grep -c '"kind":"UNDECIDABLE"' "$run/verdicts.jsonl") undecidable pages;" \
  "of $count pages, $(wc -l < "$run/verdicts.jsonl") have a verdict"
for worker in 1 2; do
  echo "worker $worker read $(get $worker /metrics | tr -d '\r' | awk '/^leitong_pages_read_total /{n=$2} END{print n+0}') pages"
done

say "The log clustered again, off line:  \$ leitong replay --config leitong.toml"
"$leitong" replay --config "$run/leitong.toml" --overwrite --output "$run/replay.jsonl"
essence() { sed -E 's/"decided_at":"[^"]*"//' "$1" | sort; }
if cmp -s <(essence "$run/verdicts.jsonl") <(essence "$run/replay.jsonl"); then
  echo "gives the same $(wc -l < "$run/replay.jsonl") verdicts"
else
  echo "gives other verdicts: a fault, please report it"; diff <(essence "$run/verdicts.jsonl") <(essence "$run/replay.jsonl") | head; exit 1
fi

say "Stopping the workers with SIGTERM"
for worker in 1 2; do
  kill "${pids[$worker]}"
  wait "${pids[$worker]}" && echo "worker $worker finished what it had begun, and exited 0"
done
unset 'pids[1]' 'pids[2]'
