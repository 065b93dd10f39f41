/**
 * What the references of the providers here begin with, and their names in the address. A sender of Standard Webhooks
 * that was given one of them could state the very facts that another provider states: `wechatpay:4200000001`.
 */
export const RESERVED_PREFIXES: ReadonlySet<string> = new Set([
  'alipay',
  'stripe',
  'wechatpay',
  'wechatpay-v2',
  'worker',
])
