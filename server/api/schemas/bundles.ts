import { integer, list, object, text } from './schema.ts'

/** Bundle uploads. */

export const bundleTarget = object(
  {
    method: text('PUT'),
    url: text('Where to send it'),
    headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
    maxBytes: integer('Most bytes of one request'),
  },
  {},
  { description: 'Takes any of the uploads together, as a tar of them; absent when nothing is to upload' },
)

export const bundleQuery = object(
  {},
  { token: text('Signature of the target'), exp: text('Unix time at which the address ends') },
)

export const bundleReceipt = object({
  files: list(
    object({ path: text('The file'), size: integer('Bytes'), hash: text('SHA-256 in hex') }),
    'What arrived, in the order of the tar',
  ),
})
