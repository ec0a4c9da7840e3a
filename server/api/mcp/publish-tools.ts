import {
  type ArchiveResponse,
  type CreateResponse,
  type FinalizeResponse,
  metadataFields,
  metadataTexts,
  type UpdateResponse,
} from '../../../protocol/api/publish.schema.ts'
import { bool, integer, list, object, type Schema, text } from '../../../protocol/api/schema.ts'
import type { ClaimResponse } from '../../../protocol/api/sites.schema.ts'
import { formatLimit, formatUtc } from '../../../protocol/format.ts'
import { mediaType } from '../../../protocol/manifest/media-type.ts'
import { describePublish } from '../../../protocol/publish-story.ts'
import { hasContents } from '../../publish/archive/content.ts'
import { CallError, formatCallError } from './internal-client.ts'
import { callReview } from './review-tools.ts'
import {
  type ApiClient,
  type Arguments,
  adds,
  MAX_INLINE_BYTES,
  MAX_LISTED,
  project,
  replaces,
  site,
  type Tools,
} from './tool.ts'

export const published = project<CreateResponse | ArchiveResponse | FinalizeResponse>(
  ['slug', 'siteUrl', 'status'],
  [
    ...(['versionId', 'previousVersionId', 'previewUrl', 'fileCount', 'changes', 'unchanged'] as const),
    ...(['warnings', 'excluded', 'notes', 'preview', 'claimToken', 'claimUrl', 'expiresAt'] as const),
    ...(['title', 'suggestedName'] as const),
  ],
)

const claimed = project<ClaimResponse>(['slug', 'siteUrl'], ['alreadyOwned'])

const uploads = object({
  count: integer('Files to upload'),
  paths: list({ type: 'string' }, `The first ${MAX_LISTED} of them`),
  url: text('PUT any number of tars with them here'),
  headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
  expiresInSeconds: integer('Lifetime of the URL in seconds'),
  next: text('What to do next'),
})

const publishOutput: Schema = object(
  { slug: text('Slug'), siteUrl: text('URL'), status: text('active, or pending until files are uploaded') },
  {
    versionId: text('Version'),
    claimUrl: text('Keeps the site'),
    claimToken: text('Changes it'),
    summary: text('What the user should know'),
    uploads,
  },
)

const fileItem: Schema = object(
  { path: text('Such as index.html or css/site.css') },
  {
    content: text('Text of the file'),
    contentBase64: text('Or its bytes'),
    contentType: text('Default: by extension'),
    size: integer('Without contents: its bytes'),
    hash: text('Without contents: SHA-256 in hex; a file that the site has is not uploaded again'),
  },
)

const inline = `at most ${formatLimit(MAX_INLINE_BYTES)} in all`

const update = {
  preview: text('Publish to the preview of this name, at its own URL; the site stays as it is'),
  message: text('A note on it'),
  live: bool('false keeps the version as a draft with its own URL'),
  baseVersionId: text('The versionId that you last saw; VERSION_CONFLICT if another one is live'),
  claimToken: text('For a site without an account: from the result that created it'),
  allowSecrets: list({ type: 'string' }, 'Fingerprints of public ones'),
}

/** The route refuses too many files with the number that the plan of the caller allows. */
export const PUBLISH_TOOLS: Tools = {
  publish_site: {
    title: 'Publish a site',
    description:
      'Publishes files as a new site at its own URL or, with slug, as the next version of that site, which then has exactly these files. Works without an account. Show the user siteUrl and, if present, claimUrl, which keeps the site.',
    input: object(
      {},
      {
        files: list(
          fileItem,
          `All files with contents, ${inline}; or path, size and hash of each, to get an upload URL`,
        ),
        slug: text('The site to update: the first label of its URL, or the URL. Default: a new site'),
        name: text('Creates your site of this name, or updates it; needs an account'),
        ...metadataTexts,
        spaMode: metadataFields.spaMode,
        ...update,
        review: bool('Returns a review link of your site or preview as reviewUrl'),
        versionId: text('In place of files: the version whose files you have uploaded'),
      },
    ),
    output: publishOutput,
    ...replaces('publish'),
    isAnonymous: true,
    async call(api, args) {
      const result: Partial<FinalizeResponse & { claimToken: string }> = await publishSite(api, args)
      const { slug, status, preview, claimToken } = result
      const isShown = status === 'active' && args.live !== false
      if (args.review !== true || !isShown || claimToken !== undefined) return result
      const subject = { slug, preview: preview?.name }
      try {
        const { url: reviewUrl } = await callReview(api, 'createReviewLink', subject, { body: {} })
        return { ...result, reviewUrl }
      } catch (error) {
        // What is live is not published again because its link was refused.
        if (error instanceof CallError) return { ...result, reviewProblem: formatCallError(error) }
        throw error
      }
    },
  },
  update_files: {
    title: 'Change files of a site',
    description: 'Adds, replaces and deletes some files of a site as its next version; all other files stay.',
    input: object(
      { slug: site },
      {
        files: list(fileItem, `Files to add or replace, with contents, ${inline}`),
        delete: list({ type: 'string' }, 'Paths of files to remove'),
        ...update,
      },
    ),
    ...replaces('publish'),
    isAnonymous: true,
    call: (api, args) => publishSite(api, { files: [], ...args, merge: true }),
  },
  claim_site: {
    title: 'Keep an anonymous site',
    description: 'Moves a site that was published without an account to your account; it no longer expires.',
    input: object(
      { slug: site, claimToken: text('From the result that created the site') },
      { name: text('The first label of its new URL, such as suggestedName') },
    ),
    ...adds('publish'),
    call: async (api, { slug, ...body }) => claimed(await api.call('claimSite', { params: { slug }, body })),
  },
}

async function publishSite(
  api: ApiClient,
  { slug, versionId, review, ...fields }: Arguments,
): Promise<object> {
  const { claimToken, live, allowSecrets } = fields
  if (versionId !== undefined)
    return toResult(await finalize(api, { slug, versionId, claimToken, live, allowSecrets }))
  const byName = slug === undefined && fields.name !== undefined
  const body = {
    ...{ ...fields, ...readFiles(fields.files), ...(byName && { update: true }), ifChanged: true },
    // Finalize decides it for files that are uploaded.
    ...(!hasContents(fields.files) && { live: undefined }),
  }
  const answer =
    slug === undefined
      ? await api.call('createSite', { body })
      : await api.call('updateSite', { params: { slug }, body })
  if (!('upload' in answer)) return toResult(answer)
  const { upload } = answer
  const anonymous = answer as { claimToken?: unknown }
  const token = anonymous.claimToken ?? claimToken
  const next = { slug: answer.slug, versionId: upload.versionId, claimToken: token, live, allowSecrets }
  if (upload.bundle)
    return {
      ...published({ ...answer, status: 'pending', versionId: upload.versionId }),
      uploads: describeUploads(answer, { ...next, review }),
    }
  return toResult({ ...answer, ...(await finalize(api, next)) })
}

/** States the facts that the user should know in words, as the other ways to publish do. */
function toResult(answer: ArchiveResponse | FinalizeResponse): object {
  const { slug, expiresAt, claimToken, claimUrl: keep, ...rest }: Partial<ArchiveResponse> = answer
  const expires = expiresAt === undefined ? undefined : formatUtc(expiresAt)
  const token = claimToken === undefined ? '' : ' and this claimToken'
  const update = answer.previousVersionId === null ? `publish_site with slug ${slug}${token}` : undefined
  const lines = describePublish({ ...answer, expires, keep, update })
  const excluded = rest.excluded?.slice(0, MAX_LISTED)
  return { ...published({ ...answer, excluded }), ...(lines.length > 0 && { summary: lines.join('\n') }) }
}

/** Adds the type that entries with contents have by default; those with size 0 are empty files. */
function readFiles(files: unknown): { files: unknown; emptyFiles?: string[] } {
  if (!Array.isArray(files)) return { files }
  const isEmpty = (file: Record<string, unknown> | null) =>
    file?.size === 0 && typeof file.path === 'string' && !hasContents([file])
  const others = files.filter((file) => !isEmpty(file))
  const emptyFiles = files.filter(isEmpty).map(({ path }) => path as string)
  return {
    files: others.map((file) =>
      typeof file?.path === 'string' && 'size' in file
        ? { contentType: mediaType(file.path), ...file }
        : file,
    ),
    ...(emptyFiles.length > 0 && { emptyFiles }),
  }
}

function finalize(api: ApiClient, { slug, ...body }: Arguments): Promise<FinalizeResponse> {
  return api.call('finalizeVersion', { params: { slug }, body: { ...body, ifChanged: true } })
}

function describeUploads({ upload }: UpdateResponse, next: Arguments): object {
  const { uploads, bundle, expiresInSeconds } = upload
  return {
    count: uploads.length,
    paths: uploads.slice(0, MAX_LISTED).map(({ path }) => path),
    url: bundle!.url,
    headers: bundle!.headers,
    expiresInSeconds,
    next: `Upload the files as a tar: tar -cf - FILES | curl -T - HEADERS URL. Then call publish_site with ${JSON.stringify(next)}.`,
  }
}
