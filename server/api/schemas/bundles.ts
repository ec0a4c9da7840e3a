import { integer, list, named, object, text } from './schema.ts'

/** Bundle uploads. */

export const uploadReceipt = named(
  'UploadReceipt',
  object({
    path: text('The file'),
    size: integer('Bytes'),
    hash: text('SHA-256 in hex'),
  }),
)

export const bundleTarget = object(
  {
    method: text('PUT'),
    url: text('Where to send it'),
    headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
    maxBytes: integer('Maximum size of one request in bytes'),
  },
  {},
  {
    title: 'BundleTarget',
    description: 'Accepts any of the uploads together, as a tar; absent when there is nothing to upload',
  },
)

export const bundleQuery = object({
  token: text('Signature of the target'),
  exp: text('Unix time at which the URL expires'),
})

export const bundleReceipt = named(
  'BundleReceipt',
  object({ files: list(uploadReceipt, 'The received files, in the order of the tar') }),
)
