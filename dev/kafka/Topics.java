import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Topics as Kafka's own client sees them, one JSON object a line:
 * {"topic","partition","offset","timestampMs","key","headers":{},"value":base64}.
 *
 *   read   BOOTSTRAP TOPIC[,TOPIC…] ISOLATION AT_LEAST DEADLINE_MS   up to the end found at the start, and on until
 *                                                                    AT_LEAST records were seen; exit 3 at the deadline
 *   follow BOOTSTRAP TOPIC[,TOPIC…]                                  as they become visible to read_committed, each with
 *                                                                    "seenMs", until anything comes from stdin, and
 *                                                                    then to the end as it is at that moment; a
 *                                                                    stdin that ends ends it at once
 *   write  BOOTSTRAP [COMPRESSION]                                   lines from stdin, each to its topic and partition
 *   delete BOOTSTRAP TOPIC PARTITION BEFORE                          deletes the records before that offset
 *   ends   BOOTSTRAP TOPIC[,TOPIC…]                                  "topic partition end stableEnd" a line: what is
 *                                                                    there, and what read_committed may read up to
 *   move   BOOTSTRAP TOPIC[,TOPIC…]                                  gives every partition its next replica as leader;
 *                                                                    prints how many leaders moved
 */
public class Topics {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", args[1]);
    // A frozen broker still accepts connections: the default of 30 s is a long wait before another one is asked.
    settings.put("request.timeout.ms", "4000");
    switch (args[0]) {
      case "read" -> read(settings, args[2].split(","), args[3], Long.parseLong(args[4]), Long.parseLong(args[5]));
      case "follow" -> follow(settings, args[2].split(","));
      case "write" -> write(settings, args.length > 2 ? args[2] : "none");
      case "delete" -> delete(settings, new TopicPartition(args[2], Integer.parseInt(args[3])), Long.parseLong(args[4]));
      case "ends" -> ends(settings, args[2].split(","));
      case "move" -> move(settings, List.of(args[2].split(",")));
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  static void read(Properties settings, String[] topics, String isolation, long atLeast, long deadlineMs) throws Exception {
    settings.put("isolation.level", isolation);
    settings.put("enable.auto.commit", "false");
    settings.put("fetch.max.wait.ms", "50");
    long deadline = System.nanoTime() + deadlineMs * 1_000_000;
    var bytes = new ByteArrayDeserializer();
    var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
    try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, bytes, bytes)) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (String topic : topics)
        for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      // For read_committed this is the last stable offset: what an open transaction holds back is not waited for.
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      long seen = 0;
      while (seen < atLeast || partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        if (System.nanoTime() > deadline) {
          out.flush();
          System.err.println("deadline after " + seen + " records");
          System.exit(3);
        }
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
          out.println(line(record));
          seen++;
        }
      }
    }
    out.flush();
  }

  static final long FOLLOW_REST_NANOS = 15_000_000_000L;

  static void follow(Properties settings, String[] topics) throws Exception {
    settings.put("isolation.level", "read_committed");
    settings.put("enable.auto.commit", "false");
    settings.put("fetch.max.wait.ms", "50");
    var bytes = new ByteArrayDeserializer();
    var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
    try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, bytes, bytes)) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (String topic : topics)
        for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      out.println("{\"ready\":true}");
      out.flush();
      var asked = new AtomicBoolean();
      var listener = new Thread(() -> asked.set(isAsked()));
      listener.setDaemon(true);
      listener.start();
      Map<TopicPartition, Long> ends = null;
      long leaveAt = Long.MAX_VALUE;
      while (true) {
        if (ends == null && asked.get()) {
          leaveAt = System.nanoTime() + FOLLOW_REST_NANOS;
          try {
            ends = consumer.endOffsets(partitions, Duration.ofSeconds(4));
          } catch (TimeoutException nobodyThere) {
            break;
          }
        }
        Map<TopicPartition, Long> until = ends;
        if (until != null && partitions.stream().allMatch(p -> consumer.position(p) >= until.get(p))) break;
        if (System.nanoTime() > leaveAt) break;
        var records = consumer.poll(Duration.ofMillis(100));
        long seenMs = System.currentTimeMillis();
        var text = new StringBuilder();
        for (ConsumerRecord<byte[], byte[]> record : records)
          text.append(((ObjectNode) JSON.readTree(line(record))).put("seenMs", seenMs)).append('\n');
        out.print(text);
        out.flush();
      }
    }
  }

  /** Waits for a byte. The end of stdin is the end of whoever has started this, which must not outlive it. */
  static boolean isAsked() {
    try {
      if (System.in.read() >= 0) return true;
    } catch (IOException unreadable) {
      // As if it had ended.
    }
    Runtime.getRuntime().halt(1);
    return false;
  }

  static String line(ConsumerRecord<byte[], byte[]> record) throws Exception {
    ObjectNode line = JSON.createObjectNode();
    line.put("topic", record.topic()).put("partition", record.partition()).put("offset", record.offset());
    line.put("timestampMs", record.timestamp());
    line.put("key", record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8));
    ObjectNode headers = line.putObject("headers");
    for (Header header : record.headers())
      headers.put(header.key(), header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8));
    line.put("value", record.value() == null ? null : Base64.getEncoder().encodeToString(record.value()));
    return JSON.writeValueAsString(line);
  }

  static void write(Properties settings, String compression) throws Exception {
    settings.put("acks", "all");
    settings.put("compression.type", compression);
    var bytes = new ByteArraySerializer();
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (var producer = new KafkaProducer<byte[], byte[]>(settings, bytes, bytes)) {
      for (String text; (text = in.readLine()) != null; ) {
        if (text.isBlank()) continue;
        JsonNode line = JSON.readTree(text);
        byte[] key = line.path("key").isTextual() ? line.get("key").asText().getBytes(StandardCharsets.UTF_8) : null;
        byte[] value = line.path("value").isTextual() ? Base64.getDecoder().decode(line.get("value").asText()) : null;
        Integer partition = line.path("partition").isInt() ? line.get("partition").asInt() : null;
        var record = new ProducerRecord<>(line.get("topic").asText(), partition, key, value);
        line.path("headers").fields().forEachRemaining(
            h -> record.headers().add(h.getKey(), h.getValue().asText().getBytes(StandardCharsets.UTF_8)));
        sent.add(producer.send(record));
      }
      producer.flush();
      for (Future<RecordMetadata> one : sent) System.out.println(one.get().partition() + " " + one.get().offset());
    }
  }

  static void delete(Properties settings, TopicPartition partition, long before) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(before))).all().get();
    }
  }

  static void ends(Properties settings, String[] topics) throws Exception {
    settings.put("enable.auto.commit", "false");
    List<TopicPartition> partitions = new ArrayList<>();
    List<Map<TopicPartition, Long>> ends = new ArrayList<>();
    for (String isolation : List.of("read_uncommitted", "read_committed")) {
      settings.put("isolation.level", isolation);
      var bytes = new ByteArrayDeserializer();
      try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, bytes, bytes)) {
        if (partitions.isEmpty())
          for (String topic : topics)
            for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
        ends.add(consumer.endOffsets(partitions));
      }
    }
    for (TopicPartition p : partitions)
      System.out.println(p.topic() + " " + p.partition() + " " + ends.get(0).get(p) + " " + ends.get(1).get(p));
  }

  static void move(Properties settings, List<String> topics) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      Map<TopicPartition, Integer> before = leaders(admin, topics);
      Map<TopicPartition, Optional<NewPartitionReassignment>> orders = new HashMap<>();
      for (TopicDescription topic : admin.describeTopics(topics).allTopicNames().get().values())
        for (TopicPartitionInfo info : topic.partitions()) {
          List<Integer> ids = new ArrayList<>(info.replicas().stream().map(Node::id).toList());
          Collections.rotate(ids, -1);
          orders.put(new TopicPartition(topic.name(), info.partition()), Optional.of(new NewPartitionReassignment(ids)));
        }
      admin.alterPartitionReassignments(orders).all().get();
      for (int tries = 0; tries < 50 && !admin.listPartitionReassignments().reassignments().get().isEmpty(); tries++) Thread.sleep(100);
      // One that cannot be elected, as its broker is away, keeps its leader.
      admin.electLeaders(ElectionType.PREFERRED, orders.keySet()).partitions().get();
      long moved = 0;
      for (int tries = 0; tries < 20 && moved == 0; tries++) {
        moved = leaders(admin, topics).entrySet().stream().filter(e -> !e.getValue().equals(before.get(e.getKey()))).count();
        Thread.sleep(100);
      }
      System.out.println(moved);
    }
  }

  static Map<TopicPartition, Integer> leaders(Admin admin, List<String> topics) throws Exception {
    Map<TopicPartition, Integer> leaders = new HashMap<>();
    for (TopicDescription topic : admin.describeTopics(topics).allTopicNames().get().values())
      for (TopicPartitionInfo info : topic.partitions())
        leaders.put(new TopicPartition(topic.name(), info.partition()), info.leader() == null ? -1 : info.leader().id());
    return leaders;
  }
}
