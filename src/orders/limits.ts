/**
 * A merchant's name and an order's number, in bytes: `orders` takes no longer ones. A provider's own limit for the
 * number is 32 (WeChat Pay) or 64 (Alipay). Whoever lets an order in must ask for no more than this: what the processor
 * cannot keep becomes a dead letter, and 21 of them halt a lane for everybody.
 */
export const ORDER_FIELD_BYTES_MAX = 64

/** The largest amount, in minor units. Avro's `long` goes further, but avsc encodes and decodes no number above 2^53-2. */
export const AMOUNT_MINOR_MAX = 9_007_199_254_740_990

/** The latest time that is kept, in the year 2255: microseconds since 2000 must stay below 2^53. */
export const TIME_MS_MAX = 9_000_000_000_000
