import { isUtf8 } from 'node:buffer'
import type { VersionList } from '../../../protocol/api/sites.ts'
import { formatLimit } from '../../../protocol/format.ts'
import { bool, integer, list, object, text } from '../schemas/schema.ts'
import { slug, versionId } from '../schemas/site.ts'
import * as shape from '../schemas/versions.ts'
import { itemOf, pick, project } from './projection.ts'
import { published } from './publish-tools.ts'
import { type ApiClient, type Arguments, dashboardUrl, MAX_LISTED, READ, REPLACE, type Tool } from './tool.ts'

/** What `read_file` returns at most: about 12,000 tokens. */
const MAX_READ_BYTES = 50_000

const DEFAULT_LISTED = 10

const version = project(
  itemOf(shape.versionList, 'versions'),
  ['versionId'],
  [
    ...['publishedAt', 'publishedBy', 'publishedWith', 'current', 'message', 'fileCount', 'changes'],
    'previewUrl',
  ],
)

const path = text('Path of the file, such as index.html')

export const VERSION_TOOLS: readonly Tool[] = [
  {
    name: 'read_file',
    title: 'Read a file of a site',
    description: `Returns a text file, at most its first ${formatLimit(MAX_READ_BYTES)}; of any other file, the type.`,
    input: object({ slug, path }, pick(shape.versionQuery, 'versionId')),
    output: object(
      { path, contentType: text('MIME type') },
      { content: text('Absent when the file is not text'), truncated: bool('The file has more') },
    ),
    annotations: READ,
    needsAccount: true,
    call: readFile,
  },
  {
    name: 'list_versions',
    title: 'List versions',
    description: 'Lists the kept versions of a site, newest first: who published what and when.',
    input: object(
      { slug },
      {
        limit: integer(`Versions to list; default ${DEFAULT_LISTED}`, { minimum: 1, maximum: MAX_LISTED }),
      },
    ),
    output: object({
      versions: list(version.schema, 'Newest first'),
      total: integer('Kept versions'),
      dashboardUrl: text('The page of the site in the dashboard, with all versions'),
    }),
    annotations: READ,
    needsAccount: true,
    call: async (api, { slug, limit = DEFAULT_LISTED }) => {
      const { versions } = await api.call<VersionList>('listVersions', { params: { slug } })
      return {
        versions: versions.slice(0, Number(limit)).map(version.of),
        total: versions.length,
        dashboardUrl: dashboardUrl(api, slug),
      }
    },
  },
  {
    name: 'restore_version',
    title: 'Restore a version',
    description: 'Makes an earlier version of a site live again, without uploads.',
    input: object({ slug, versionId }),
    output: published.schema,
    annotations: REPLACE,
    needsAccount: true,
    call: async (api, { slug, versionId }) =>
      published.of(await api.call('restoreVersion', { params: { slug, versionId } })),
  },
]

async function readFile(api: ApiClient, { slug, path, versionId }: Arguments): Promise<object> {
  const call = { params: { slug, '*': path }, query: { versionId } }
  const { type, bytes, isCut } = await api.read('downloadFile', call, MAX_READ_BYTES)
  const text = decode(bytes, isCut)
  return {
    path,
    contentType: type,
    ...(text === undefined ? {} : { content: text, ...(isCut ? { truncated: true } : {}) }),
  }
}

/** The text of bytes in UTF-8; undefined for others. A file that was cut may end within a character. */
function decode(bytes: Buffer, isCut: boolean): string | undefined {
  const end = isCut ? bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80) : bytes.length
  const whole = bytes.subarray(0, end)
  return isUtf8(whole) && !whole.includes(0) ? whole.toString() : undefined
}
