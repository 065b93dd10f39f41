/** kafkajs has uncompressed and gzip; `compression.type` of the topics that we create keeps the others out. */
export function explainCodec(error: Error, topic: string): Error {
  if (error.name !== 'KafkaJSNotImplemented') return error
  return new Error(
    `${topic} holds records that cannot be read (${error.message}). Set its compression.type to uncompressed, so that ` +
      'the broker rewrites what is published from now on, and publish those records again',
    { cause: error },
  )
}
