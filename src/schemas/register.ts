import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import type { RawAvroSchema } from '@kafkajs/confluent-schema-registry/dist/@types.js'
import { SCHEMAS, subjectOf } from './definitions.ts'
import { connectRegistry, isNotFound, REQUEST_MS_MAX, registryAddress, unavailable } from './registry.ts'
import { TOPICS } from './topics.ts'

const BACKWARD = 'BACKWARD'

export type Registration =
  | { readonly kind: 'registered' | 'unchanged'; readonly subject: string; readonly schemaId: number }
  /** Readers of this version could not read what the latest registered version wrote. Nothing was changed. */
  | { readonly kind: 'incompatible'; readonly subject: string; readonly detail: string }
  /** Somebody set another compatibility than BACKWARD for the subject. Nothing was changed. */
  | { readonly kind: 'other_compatibility'; readonly subject: string; readonly found: string }

/**
 * Registers this version's schemas under `<prefix><topic>-value`, compatibility BACKWARD. Safe to run again and by
 * several at once. Processes never register: they look their schemas up.
 * @throws RegistryUnavailable the registry does not answer.
 */
export async function registerSchemas(registryUrl: string, topicPrefix: string): Promise<Registration[]> {
  const registry = connectRegistry(registryUrl)
  const results: Registration[] = []
  for (const topic of TOPICS) {
    const subject = subjectOf(topicPrefix, topic)
    try {
      results.push(await registerOne(registry, registryUrl, subject, SCHEMAS[topic]))
    } catch (error) {
      throw unavailable(`registering ${subject}`, error)
    }
  }
  return results
}

async function registerOne(
  registry: SchemaRegistry,
  registryUrl: string,
  subject: string,
  schema: RawAvroSchema,
): Promise<Registration> {
  // First, as the library sets it after its first registration, which was then checked against something else.
  const found = await ensureBackward(registryUrl, subject)
  if (found !== BACKWARD) return { kind: 'other_compatibility', subject, found }
  try {
    return { kind: 'unchanged', subject, schemaId: await registry.getRegistryIdBySchema(subject, schema) }
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  try {
    const { id } = await registry.register(schema, { subject })
    return { kind: 'registered', subject, schemaId: id }
  } catch (error) {
    if (!(error instanceof Error && 'status' in error && error.status === 409)) throw error
    return { kind: 'incompatible', subject, detail: error.message.slice(0, 500) }
  }
}

/** @returns the subject's compatibility, which is set to BACKWARD if it has none of its own. */
async function ensureBackward(registryUrl: string, subject: string): Promise<string> {
  const { host, auth } = registryAddress(registryUrl)
  const request = async (method: 'GET' | 'PUT', body?: string) =>
    fetch(`${host}/config/${encodeURIComponent(subject)}`, {
      method,
      headers: {
        'content-type': 'application/vnd.schemaregistry.v1+json',
        ...(auth && { authorization: `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}` }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    })
  const current = await request('GET')
  if (current.ok) return ((await current.json()) as { compatibilityLevel: string }).compatibilityLevel.toUpperCase()
  const set = await request('PUT', JSON.stringify({ compatibility: BACKWARD }))
  if (!set.ok) throw new Error(`the registry answered ${current.status} to GET and ${set.status} to PUT of its config`)
  return BACKWARD
}
