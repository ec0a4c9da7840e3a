import { isUtf8 } from 'node:buffer'
import type { Preview } from '../../../protocol/api/previews.schema.ts'
import { integer, object, text } from '../../../protocol/api/schema.ts'
import type { VersionSummary } from '../../../protocol/api/versions.schema.ts'
import { formatLimit } from '../../../protocol/format.ts'
import { published } from './publish-tools.ts'
import {
  type ApiClient,
  type Arguments,
  dashboardUrl,
  MAX_LISTED,
  project,
  READ,
  replaces,
  site,
  type Tools,
} from './tool.ts'

/** About 12,000 tokens. */
const MAX_READ_BYTES = 50_000

/** The file is read up to the offset. */
const MAX_OFFSET_BYTES = 20_000_000

const DEFAULT_LISTED = 10

const version = project<VersionSummary>(
  ['versionId'],
  [
    ...(['publishedAt', 'publishedBy', 'publishedWith', 'current', 'message'] as const),
    ...(['fileCount', 'changes', 'previewUrl'] as const),
  ],
)

export const VERSION_TOOLS: Tools = {
  read_file: {
    title: 'Read a file of a site',
    description: `Returns ${formatLimit(MAX_READ_BYTES)} of a text file of a site, and nextOffset if it has more; of other files, the type.`,
    input: object(
      { slug: site, path: text('Such as index.html') },
      {
        offset: integer('Byte to begin at; default 0', { minimum: 0, maximum: MAX_OFFSET_BYTES }),
        versionId: text('Default: the live version'),
      },
    ),
    ...READ,
    call: readFile,
  },
  list_versions: {
    title: 'List versions',
    description: 'Lists the kept versions of a site, newest first: who published what and when.',
    input: object(
      { slug: site },
      { limit: integer(`Default ${DEFAULT_LISTED}`, { minimum: 1, maximum: MAX_LISTED }) },
    ),
    ...READ,
    call: async (api, { slug, limit = DEFAULT_LISTED }) => {
      const { versions } = await api.call('listVersions', { params: { slug } })
      return {
        versions: versions.slice(0, Number(limit)).map(version),
        total: versions.length,
        dashboardUrl: dashboardUrl(api, slug),
      }
    },
  },
  restore_version: {
    title: 'Restore a version',
    description: 'Makes an earlier version or a draft of a site live.',
    input: object(
      { slug: site, versionId: text('From list_versions, or previous: what the live one replaced') },
      { baseVersionId: text('The live versionId that you last saw; VERSION_CONFLICT if another one is') },
    ),
    ...replaces('publish'),
    call: async (api, { slug, versionId, baseVersionId }) =>
      published(await api.call('restoreVersion', { params: { slug, versionId }, query: { baseVersionId } })),
  },
}

async function readFile(api: ApiClient, { slug, path, versionId, offset = 0 }: Arguments): Promise<object> {
  const call = { params: { slug, '*': path }, query: { versionId } }
  const start = Number(offset)
  const { type, bytes, isCut } = await api.read('downloadFile', call, {
    offset: start,
    maxBytes: MAX_READ_BYTES,
  })
  const whole = wholeCharacters(bytes, { isFirst: start === 0, isCut })
  if (!isUtf8(whole) || whole.includes(0)) return { path, contentType: type }
  const end = start + whole.byteOffset - bytes.byteOffset + whole.length
  return { path, contentType: type, content: whole.toString(), ...(isCut ? { nextOffset: end } : {}) }
}

/** The characters of UTF-8 that are whole in a part of a file. */
function wholeCharacters(bytes: Buffer, { isFirst, isCut }: { isFirst: boolean; isCut: boolean }): Buffer {
  const isStart = (byte: number) => (byte & 0xc0) !== 0x80
  const start = isFirst ? 0 : Math.max(0, bytes.findIndex(isStart))
  return bytes.subarray(start, isCut ? bytes.findLastIndex(isStart) : bytes.length)
}

const previewSummary = project<Preview>(
  ['name', 'url', 'versionId', 'expiresAt'],
  ['publishedBy', 'message', 'fileCount', 'changes'],
)

const preview = text('Name of the preview')

export const PREVIEW_TOOLS: Tools = {
  list_previews: {
    title: 'List previews',
    description: 'Lists the previews of a site, which publish_site creates with the argument preview.',
    input: object({ slug: site }),
    ...READ,
    call: async (api, { slug }) => {
      const { previews } = await api.call('listPreviews', { params: { slug } })
      return { previews: previews.slice(0, MAX_LISTED).map(previewSummary), total: previews.length }
    },
  },
  promote_preview: {
    title: 'Make a preview live',
    description: 'Makes the version that a preview shows the live version of its site.',
    input: object(
      { slug: site, preview },
      { versionId: text('VERSION_CONFLICT if the preview shows another version') },
    ),
    ...replaces('publish'),
    call: async (api, { slug, preview, versionId }) =>
      published(await api.call('promotePreview', { params: { slug, name: preview }, query: { versionId } })),
  },
  delete_preview: {
    title: 'Delete a preview',
    description: 'Deletes a preview of a site. The live site stays.',
    input: object({ slug: site, preview }),
    ...replaces('publish'),
    call: (api, { slug, preview }) => api.call('deletePreview', { params: { slug, name: preview } }),
  },
}
