/**
 * kafkajs cuts a broker's address at its first colon, so that `[::1]:9092` would become the host `[`. An IPv6 address
 * goes through it with hyphens, which none has of its own.
 */
export const toKafkajs = (broker: string): string =>
  broker.replace(/^\[(.+)\]/, (_brackets, address: string) => `[${address.replaceAll(':', '-')}]`)

/** The host to connect to; what the cluster itself names comes without brackets and stays as it is. */
export const fromKafkajs = (host: string): string =>
  host.startsWith('[') ? host.slice(1, -1).replaceAll('-', ':') : host
