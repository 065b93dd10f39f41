import { connect as connectTcp, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ISocketFactory, Kafka as Client, RetryOptions, SASLOptions } from 'kafkajs'
import { BadConfiguration, saslProblems } from '../config.ts'
import type { Log } from '../log.ts'
import { fromKafkajs, toKafkajs } from './broker-address.ts'
import { clientLog } from './client-log.ts'
import { Kafka, logLevel } from './kafkajs.ts'

/** Where the brokers are and how to be let in. A private CA comes in through Node's own `NODE_EXTRA_CA_CERTS`. */
export interface KafkaSettings {
  readonly brokers: readonly string[]
  readonly ssl: boolean
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly username: string
    readonly password: string
  }
  /** After this a broker that does not answer is given up and another one is looked for; default 10 s. */
  readonly requestTimeoutMs?: number
}

interface KafkaVariables {
  readonly KAFKA_BROKERS: readonly string[]
  readonly KAFKA_SASL_MECHANISM?: 'plain' | 'scram-sha-256' | 'scram-sha-512' | undefined
  readonly KAFKA_SASL_USERNAME?: string | undefined
  readonly KAFKA_SASL_PASSWORD?: string | undefined
  readonly KAFKA_SSL: boolean
}

/** @throws BadConfiguration when only some of the three SASL variables are set. */
export function kafkaSettings(config: KafkaVariables): KafkaSettings {
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
    KAFKA_BROKERS: brokers,
    KAFKA_SSL: ssl,
  } = config
  const [problem] = saslProblems(config)
  if (problem !== undefined) throw new BadConfiguration(`Bad configuration:\n${problem}`)
  if (mechanism === undefined || username === undefined || password === undefined) return { brokers, ssl }
  return { brokers, ssl, sasl: { mechanism, username, password } }
}

/** kafkajs' own defaults depend on NODE_ENV, so all five are set. */
const RETRY: RetryOptions = { initialRetryTime: 100, maxRetryTime: 2_000, retries: 10, factor: 0.2, multiplier: 2 }
const KEEP_ALIVE_MS = 60_000
const CONNECT_MS_MAX = 5_000
const REQUEST_MS_MAX = 10_000

/** kafkajs' own leaves Nagle's algorithm on, which holds a small request back while another is unanswered. */
export const socketFactory: ISocketFactory = ({ host: given, port, ssl, onConnect }) => {
  const host = fromKafkajs(given)
  // The types say `ssl` is always there; without TLS it is null.
  const tls = ssl as typeof ssl | null
  const socket =
    tls === null
      ? connectTcp({ host, port }, onConnect)
      : connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...tls }, onConnect)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  // kafkajs does it at every disconnect, also of what is closed: Node would wait each time for that socket to connect.
  const unref = socket.unref.bind(socket)
  socket.unref = () => (socket.destroyed ? socket : unref())
  return socket
}

/**
 * A kafkajs instance. Producers and consumers never share one: `sendOffsets` marks offsets as committed in a map that
 * all clients of an instance read, before the transaction commits.
 */
export function kafkaFor(settings: KafkaSettings, clientId: string, log: Log, retry: RetryOptions = {}): Client {
  const write = clientLog(log)
  const { requestTimeoutMs = REQUEST_MS_MAX } = settings
  return new Kafka({
    // Called at every attempt: kafkajs itself would always begin with the first.
    brokers: () => shuffled(settings.brokers).map(toKafkajs),
    clientId,
    ...(settings.ssl ? { ssl: true } : {}),
    ...(settings.sasl === undefined ? {} : { sasl: settings.sasl as SASLOptions }),
    connectionTimeout: Math.min(CONNECT_MS_MAX, requestTimeoutMs),
    authenticationTimeout: CONNECT_MS_MAX,
    requestTimeout: requestTimeoutMs,
    enforceRequestTimeout: true,
    retry: { ...RETRY, ...retry },
    socketFactory,
    // Never DEBUG: it would put whole responses into the log.
    logLevel: logLevel.INFO,
    logCreator: () => write,
  })
}

function shuffled(brokers: readonly string[]): string[] {
  const order = brokers.map((broker) => ({ broker, at: Math.random() }))
  return order.sort((a, b) => a.at - b.at).map(({ broker }) => broker)
}
