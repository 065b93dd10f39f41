import { fuzzProvider } from './fuzz.ts'
import { genuineNotices, notice, NOW, provider, signedBytes } from './wechatpay-subject.ts'

fuzzProvider('WeChat Pay v3', {
  provider,
  now: NOW,
  genuine: genuineNotices.map(({ request }) => request),
  expected: genuineNotices.map(({ messages }) => messages),
  signed: [
    { what: 'envelopes', bodies: genuineNotices.map(({ request }) => request.rawBody), sign: signedBytes },
    {
      what: 'resources',
      bodies: genuineNotices.map(({ resource }) => Buffer.from(JSON.stringify(resource))),
      sign: (body) => notice({ resource: body.toString() }),
    },
  ],
})
