import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'
import { formatLimit } from '../../../protocol/format.ts'
import { invalidIgnoreFile, MAX_IGNORE_BYTES } from '../../../protocol/ignore/default-rules.ts'
import { ApiError } from '../../lib/errors.ts'
import { type ArchiveEntry, bufferedEntry } from './file.ts'
import { type ArchiveLimits, toRefusal } from './limits.ts'

/** Of the files in a JSON body together, and of an HTML body. */
export const MAX_CONTENT_BYTES = 2 * 2 ** 20

export interface ContentFile {
  path: string
  bytes: Buffer
  /** By default that of its name and its first bytes. */
  contentType?: string
}

export async function* contentFiles(
  files: readonly ContentFile[],
  budget: ArchiveLimits,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  for (const { path, bytes } of files) {
    if (!budget.selection?.isIgnoreFile(path)) continue
    if (bytes.length > MAX_IGNORE_BYTES) throw toRefusal(invalidIgnoreFile(path))
    budget.addIgnoreFile(path, bytes.toString())
  }
  for (const { path, bytes, contentType } of files) {
    if (budget.excludeByName(path, bytes.length)) continue
    budget.admit(path, bytes.length)
    yield { ...bufferedEntry(path, bytes), ...(contentType === undefined ? {} : { contentType }) }
  }
}

export async function* htmlFile(
  chunks: AsyncIterable<Buffer>,
  budget: ArchiveLimits,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  const page = new GrowingBuffer()
  for await (const chunk of chunks) {
    if (page.length + chunk.length > MAX_CONTENT_BYTES)
      throw new ApiError(
        'PAYLOAD_TOO_LARGE',
        `The HTML page is too large. The limit is ${formatLimit(MAX_CONTENT_BYTES)}.`,
      )
    page.append(chunk)
  }
  yield* contentFiles([{ path: 'index.html', bytes: page.take() }], budget)
}
