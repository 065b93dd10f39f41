import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kafkaProgram, LOG4J, type KafkaProgram } from './kafka-program.ts'
import { aliveBrokers } from './kafka-ready.ts'
import { startPart, type Part } from './part.ts'
import { choosePort } from './ports.ts'
import { mustRun } from './run.ts'

export interface KafkaCluster {
  /** What `KAFKA_BROKERS` is set to. */
  readonly brokers: string
  readonly nodes: readonly KafkaNode[]
}

export interface KafkaNode extends Part {
  readonly dataDir: string
  /** By the names asked for: where the broker listens for that kind of client, and where it tells it to come. */
  readonly links: Readonly<Record<string, Link>>
}

export interface Link {
  readonly listen: number
  readonly advertised: number
}

export interface KafkaOptions {
  readonly dir: string
  /** 1 for work, 3 to see leaders move; each is broker and controller. Default 1. */
  readonly nodes?: number
  readonly preferredPort?: number
  /** More lines of server.properties; the later one of a name wins. */
  readonly settings?: readonly string[]
  /** Kinds of clients that are sent to a port of their own, at which somebody else forwards to the broker. */
  readonly links?: readonly string[]
}

const CLUSTER_ID = 'cGFpZG9uY2UtbG9jYWwtMQ'

/** Starts a KRaft cluster on the loopback, formatting its data folder first if it is new. */
export async function startKafka(options: KafkaOptions): Promise<KafkaCluster> {
  const program = await kafkaProgram()
  const count = options.nodes ?? 1
  const ports: NodeOptions['port'][] = []
  for (let i = 0; i < count; i++) {
    const links: Record<string, Link> = {}
    for (const name of options.links ?? []) links[name] = { listen: await choosePort(), advertised: await choosePort() }
    const client = await choosePort(options.preferredPort === undefined ? undefined : options.preferredPort + i)
    ports.push({ client, controller: await choosePort(), links })
  }
  const voters = ports.map((port, i) => `${i + 1}@127.0.0.1:${port.controller}`).join(',')
  const nodes = await Promise.all(
    ports.map((port, i) => startNode(program, { ...options, nodeId: i + 1, count, voters, port })),
  )
  return { brokers: ports.map((port) => `127.0.0.1:${port.client}`).join(','), nodes }
}

interface NodeOptions extends KafkaOptions {
  readonly nodeId: number
  readonly count: number
  readonly voters: string
  readonly port: {
    readonly client: number
    readonly controller: number
    readonly links: Readonly<Record<string, Link>>
  }
}

async function startNode(program: KafkaProgram, node: NodeOptions): Promise<KafkaNode> {
  const dir = join(node.dir, `kafka-${node.nodeId}`)
  const data = join(dir, 'data')
  const config = join(dir, 'server.properties')
  mkdirSync(dir, { recursive: true })
  writeFileSync(config, properties(node, data))
  if (!existsSync(join(data, 'meta.properties')))
    await mustRun(program.java, [
      ...['-XX:TieredStopAtLevel=1', `-Dlog4j2.configurationFile=${LOG4J}`, `-Dpaidonce.logs=${dir}/format`],
      ...['-cp', program.classpath, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', config],
    ])
  // Small and quick to start: 1.4 s to listening with the serial collector and the first compiler tier.
  const heap = node.count === 1 ? '512m' : '400m'
  const part = await startPart({
    name: node.count === 1 ? 'kafka' : `kafka-${node.nodeId}`,
    launch: {
      command: program.java,
      args: [
        ...[`-Xmx${heap}`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
        ...[`-Dlog4j2.configurationFile=${LOG4J}`, `-Dpaidonce.logs=${dir}`],
        ...['-cp', program.classpath, 'kafka.Kafka', config],
      ],
      logFile: join(dir, 'server.err'),
      cwd: dir,
    },
    stopSignal: 'SIGTERM',
    readyMs: 60_000,
    answers: async () => {
      // Of several nodes a majority is enough to be of use: the others may be down on purpose.
      const alive = await aliveBrokers(node.port.client, 2_000)
      const wanted = Math.floor(node.count / 2) + 1
      if (alive < wanted) throw new Error(`it knows ${alive} of ${wanted} brokers`)
    },
  })
  const more = { dataDir: data, links: node.port.links }
  return Object.defineProperties(more, Object.getOwnPropertyDescriptors(part)) as KafkaNode
}

function properties(node: NodeOptions, data: string): string {
  const majority = Math.floor(node.count / 2) + 1
  const links = Object.entries(node.port.links).map(([name, link]) => ({ name: name.toUpperCase(), ...link }))
  const listeners = (port: (link: Link) => number) =>
    links.map((link) => `,${link.name}://127.0.0.1:${port(link)}`).join('')
  return [
    'process.roles=broker,controller',
    `node.id=${node.nodeId}`,
    `controller.quorum.voters=${node.voters}`,
    `listeners=PLAINTEXT://127.0.0.1:${node.port.client},CONTROLLER://127.0.0.1:${node.port.controller}${listeners(({ listen }) => listen)}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${node.port.client}${listeners(({ advertised }) => advertised)}`,
    'inter.broker.listener.name=PLAINTEXT',
    'controller.listener.names=CONTROLLER',
    `listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT${links.map(({ name }) => `,${name}:PLAINTEXT`).join('')}`,
    `log.dirs=${data}`,
    'auto.create.topics.enable=false',
    `default.replication.factor=${node.count}`,
    `min.insync.replicas=${majority}`,
    'offsets.topic.num.partitions=4',
    `offsets.topic.replication.factor=${node.count}`,
    'transaction.state.log.num.partitions=4',
    `transaction.state.log.replication.factor=${node.count}`,
    `transaction.state.log.min.isr=${majority}`,
    `share.coordinator.state.topic.replication.factor=${node.count}`,
    `share.coordinator.state.topic.min.isr=${majority}`,
    // Tests make and lose members all the time: no wait for more, and short sessions may be asked for.
    'group.initial.rebalance.delay.ms=0',
    'group.min.session.timeout.ms=1000',
    // Tests drop many topics: their files go at once, not after a minute.
    'log.segment.delete.delay.ms=1000',
    ...(node.count === 1
      ? []
      : ['auto.leader.rebalance.enable=false', 'broker.session.timeout.ms=4000', 'broker.heartbeat.interval.ms=1000']),
    ...(node.settings ?? []),
    '',
  ].join('\n')
}
