import type { ArchiveResponse, FinalizeResponse, UpdateResponse } from '../../../protocol/api/publish.ts'
import { formatLimit } from '../../../protocol/format.ts'
import { integer, list, object, type Schema, text } from '../schemas/schema.ts'
import { fileEntry, slug, textFile } from '../schemas/site.ts'
import * as shape from '../schemas.ts'
import { pick, project, properties } from './projection.ts'
import {
  ADD,
  type ApiClient,
  type Arguments,
  MAX_INLINE_BYTES,
  MAX_LISTED,
  REPLACE,
  type Tool,
} from './tool.ts'

/** A publish of a new site, with what an anonymous one has, or of the next version of a site. */
export const published = project(
  object({}, { ...properties(shape.updateResponse), ...properties(shape.createResponse) }),
  ['slug', 'siteUrl', 'status'],
  [
    ...['versionId', 'previousVersionId', 'previewUrl', 'fileCount', 'changes', 'unchanged', 'warnings'],
    ...['excluded', 'claimToken', 'claimUrl', 'expiresAt'],
  ],
)

const claimed = project(shape.claimResponse, ['slug', 'siteUrl'], ['alreadyOwned'])

const claimToken = text('Without an account: of an anonymous site, from the result that created it')

const uploads = object({
  count: integer('Files to upload'),
  paths: list({ type: 'string' }, `The first ${MAX_LISTED} of them`),
  url: text('PUT any number of tars with them here'),
  headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
  expiresInSeconds: integer('Lifetime of the URL in seconds'),
  next: text('What to do next'),
})

const publishOutput: Schema = {
  ...published.schema,
  properties: { ...properties(published.schema), uploads },
}

/** A file with its contents, or the entry of a manifest; the API checks which fields belong together. */
const fileItem: Schema = object(pick(textFile, 'path'), {
  content: text('The text'),
  contentBase64: text('Or the bytes'),
  contentType: text('By default that of the extension'),
  ...pick(fileEntry, 'size', 'hash'),
})

/** `maxFiles` is the largest number of files that a plan allows. */
export function publishTools(maxFiles: number): Tool[] {
  const fields = shape.publishRequest(maxFiles)
  const inline = `at most ${formatLimit(MAX_INLINE_BYTES)} in all`
  const describeFiles = (description: string) => list(fileItem, description, { maxItems: maxFiles })
  const update = { ...pick(fields, 'baseVersionId', 'message', 'live'), claimToken }
  return [
    {
      name: 'publish_site',
      title: 'Publish a site',
      description:
        'Publishes files as a new site, live at its own URL; with slug, as the next version of that site, which then has exactly these files. Works without an account: show the user claimUrl, the link that keeps the site.',
      input: object(
        {},
        {
          files: describeFiles(
            `All files with their contents, ${inline}; or path, size, contentType and hash of each, to get upload targets`,
          ),
          slug: text('The site to update; without it, a new one'),
          ...pick(fields, 'name', 'title', 'description', 'spaMode'),
          ...update,
          versionId: text('In place of files: the version whose files were uploaded'),
        },
      ),
      output: publishOutput,
      annotations: REPLACE,
      needsAccount: false,
      call: publishSite,
    },
    {
      name: 'update_files',
      title: 'Change files of a site',
      description: 'Adds, replaces and deletes files of a live site as its next version; the rest stays.',
      input: object(
        { slug },
        {
          files: describeFiles(`The files to add and replace, with their contents, ${inline}`),
          ...pick(fields, 'delete'),
          ...update,
        },
      ),
      output: publishOutput,
      annotations: REPLACE,
      needsAccount: false,
      call: (api, args) => publishSite(api, { files: [], ...args, merge: true }),
    },
    {
      name: 'claim_site',
      title: 'Keep an anonymous site',
      description: 'Makes an anonymous site the property of your account. It then no longer expires.',
      input: object({ slug, claimToken }),
      output: claimed.schema,
      annotations: { ...ADD, idempotentHint: true },
      needsAccount: true,
      call: async (api, { slug, claimToken }) =>
        claimed.of(await api.call('claimSite', { params: { slug }, body: { claimToken } })),
    },
  ]
}

/** Publishes files, or finalizes the version whose files were uploaded. */
async function publishSite(api: ApiClient, { slug, versionId, ...fields }: Arguments): Promise<object> {
  const { claimToken, live } = fields
  if (versionId !== undefined) return finalize(api, { slug, versionId, claimToken, live })
  const body = { ...fields, ifChanged: true }
  const answer =
    slug === undefined
      ? await api.call<UpdateResponse | ArchiveResponse>('createSite', { body })
      : await api.call<UpdateResponse | ArchiveResponse>('updateSite', { params: { slug }, body })
  if (!('upload' in answer)) return published.of(answer)
  const { upload } = answer
  const anonymous = answer as { claimToken?: unknown }
  if (upload.bundle)
    return {
      ...published.of({ ...answer, status: 'pending', versionId: upload.versionId }),
      uploads: describeUploads(answer),
    }
  const { versionId: uploaded } = upload
  const token = anonymous.claimToken ?? claimToken
  return {
    ...published.of(answer),
    ...(await finalize(api, { slug: answer.slug, versionId: uploaded, claimToken: token, live })),
  }
}

async function finalize(api: ApiClient, { slug, ...body }: Arguments): Promise<object> {
  const answer = await api.call<FinalizeResponse>('finalizeVersion', {
    params: { slug },
    body: { ...body, ifChanged: true },
  })
  return published.of(answer)
}

function describeUploads({ slug, upload }: UpdateResponse): object {
  const { uploads, bundle, versionId, expiresInSeconds } = upload
  return {
    count: uploads.length,
    paths: uploads.slice(0, MAX_LISTED).map(({ path }) => path),
    url: bundle!.url,
    headers: bundle!.headers,
    expiresInSeconds,
    next: `Upload the files as a tar: tar -cf - FILES | curl -T - HEADERS URL. Then call publish_site with slug ${slug} and versionId ${versionId}.`,
  }
}
