// Reads verdicts and prints what an indexer does with each page.
//
// usage: consumer BROKERS TOPIC GROUP [COUNT]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

const formatVersion = 1

// The fields used of a verdict; it has more.
type verdict struct {
	Reason          string `json:"reason"`
	CanonicalPageID string `json:"canonical_page_id"`
}

// Returns what to do with a page, by the headers alone if they are enough.
func action(record *kgo.Record) (string, error) {
	headers := map[string]string{}
	for _, header := range record.Headers {
		headers[header.Key] = string(header.Value)
	}
	version, err := strconv.Atoi(headers["leitong.format.version"])
	if err != nil || version > formatVersion {
		return "", fmt.Errorf("this verdict has a newer format: update this program")
	}
	page, kind := headers["leitong.page.id"], headers["leitong.kind"]
	if kind == "UNIQUE" || headers["leitong.same.url"] == "true" {
		return "store " + page, nil
	}
	var found verdict
	if err := json.Unmarshal(record.Value, &found); err != nil {
		return "", err
	}
	switch {
	case kind == "UNDECIDABLE":
		return "leave " + page + " " + found.Reason, nil
	case strings.HasSuffix(kind, "_DUPLICATE"):
		return "skip " + page + " " + found.CanonicalPageID, nil
	}
	return "", nil
}

func run(ctx context.Context, brokers, topic, group string, left int) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(brokers, ",")...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup(group),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		// The partitions of a batch are not revoked while it is processed.
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for left != 0 {
		most := 500
		if left > 0 {
			most = min(most, left)
		}
		fetches := client.PollRecords(ctx, most)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		records := fetches.Records()
		for _, record := range records {
			line, err := action(record)
			if err != nil {
				return err
			}
			if line != "" {
				fmt.Println(line)
			}
		}
		if err := client.CommitRecords(ctx, records...); err != nil {
			return err
		}
		left -= len(records)
		client.AllowRebalance()
	}
	return nil
}

func main() {
	if len(os.Args) < 4 || len(os.Args) > 5 {
		log.Fatal("usage: consumer BROKERS TOPIC GROUP [COUNT]")
	}
	left := -1
	if len(os.Args) == 5 {
		count, err := strconv.Atoi(os.Args[4])
		if err != nil {
			log.Fatal(err)
		}
		left = count
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], left); err != nil {
		log.Fatal(err)
	}
}
