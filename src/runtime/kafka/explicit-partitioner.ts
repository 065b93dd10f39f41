import type { ICustomPartitioner } from 'kafkajs'

/** Every message says its partition; kafkajs chooses none. */
export const explicitPartitioner: ICustomPartitioner =
  () =>
  ({ topic, message: { partition } }) => {
    if (partition === undefined) throw new TypeError(`A message for ${topic} names no partition`)
    return partition
  }
