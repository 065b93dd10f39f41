import { InvalidArgumentError, Option } from 'commander'
import { BILL_PROVIDERS } from '../providers/bill.ts'

/** A day as `2026-11-11`. */
export const day = (text: string) => {
  const startMs = Date.parse(`${text}T00:00:00Z`)
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || !(startMs >= 0) || new Date(startMs).toISOString().slice(0, 10) !== text)
    throw new InvalidArgumentError('It must be a day like 2026-11-11.')
  return text
}

export const providerOption = () =>
  new Option('--provider <name>', 'whose bill; WeChat Pay has one for both its protocols').choices(BILL_PROVIDERS)
