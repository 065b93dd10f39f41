import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import { isNotFound, unavailable } from './registry.ts'

/** How to read what one schema wrote: `resolver` undefined if it is the reader's own form. */
export type Reader = { readonly resolver: avro.Resolver | undefined } | { readonly unreadable: string }

/** @returns undefined if the registry, while it knows our own subject, denies the id. */
export async function fetchType(
  registry: SchemaRegistry,
  schemaId: number,
  subject: string,
): Promise<avro.Type | undefined> {
  try {
    // Its typings promise less than it gives: for Avro it is avsc's own type.
    return (await registry.getSchema(schemaId)) as unknown as avro.Type
  } catch (error) {
    if (!isNotFound(error)) throw unavailable(`loading schema ${schemaId}`, error)
  }
  // A proxy whose registry is gone may answer 404 to everything: then nothing was said about the id.
  await registry.getLatestSchemaId(subject).catch((error: unknown) => {
    throw unavailable(`asking for ${subject} after a 404`, error)
  })
  return undefined
}

/** Resolvers are made once per schema: the library would make one per record, which costs 57 instead of 2 µs. */
export function readerOf(own: avro.Type, writer: avro.Type, schemaId: number, what: string): Reader {
  if (!avro.Type.isType(writer)) return { unreadable: `schema ${schemaId} is not Avro` }
  if (own.equals(writer)) return { resolver: undefined }
  try {
    return { resolver: own.createResolver(writer) }
  } catch {
    return { unreadable: `schema ${schemaId} (${String(writer.name)}) is no ${what} that this version can read` }
  }
}
