import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { boundedCollections } from './bounded-types.ts'

/** The registry did not answer, or not as a registry does. Transient: ask again later. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable'
}

/** The registry answers but does not know a schema that this version writes: a step of the installation is missing. */
export class SchemaNotRegistered extends Error {
  override readonly name = 'SchemaNotRegistered'
}

export const REQUEST_MS_MAX = 3_000
/** One object for every client: the library merges it into a module-wide default, so that the last one would win. */
const RETRY = { retries: 2, initialRetryTimeInSecs: 0.1, maxRetryTimeInSecs: 1 }

export interface RegistryAddress {
  readonly host: string
  readonly auth?: { readonly username: string; readonly password: string }
}

/** Splits `https://user:password@host/path` into the address and the credentials. */
export function registryAddress(registryUrl: string): RegistryAddress {
  const url = new URL(registryUrl)
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
  url.username = ''
  url.password = ''
  const host = url.href.replace(/\/$/, '')
  return username === '' && password === '' ? { host } : { host, auth: { username, password } }
}

export function connectRegistry(registryUrl: string): SchemaRegistry {
  const { host, auth } = registryAddress(registryUrl)
  return new SchemaRegistry(
    {
      host,
      clientId: 'paidonce',
      retry: RETRY,
      ...(auth === undefined ? {} : { auth }),
      // Without it a registry that accepts connections and never answers would hold its caller for ever.
      middlewares: [() => ({ prepareRequest: async (next) => (await next()).enhance({ timeout: REQUEST_MS_MAX }) })],
    },
    { [SchemaType.AVRO]: { typeHook: boundedCollections } },
  )
}

/** The library gives a lost connection the status 400 and a timeout too, so only a 404 says anything. */
export const isNotFound = (error: unknown) =>
  error instanceof Error &&
  // `getRegistryIdBySchema` wraps a 404, and nothing else, in this class.
  (error.name === 'ConfluentSchemaRegistryError' || ('status' in error && error.status === 404))

export const unavailable = (doing: string, error: unknown) =>
  new RegistryUnavailable(`${doing}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
