import { hash } from 'node:crypto'
import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'
import type { FieldError } from '../../../protocol/api/errors.schema.ts'
import { formatLimit } from '../../../protocol/format.ts'
import { invalidIgnoreFile, MAX_IGNORE_BYTES } from '../../../protocol/ignore/default-rules.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import { ApiError, tooLarge, validationError } from '../../lib/errors.ts'
import { type ArchiveEntry, bufferedEntry } from './file.ts'
import { type ArchiveLimits, refuse } from './limits.ts'

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
    if (bytes.length > MAX_IGNORE_BYTES) refuse(invalidIgnoreFile(path))
    budget.addIgnoreFile(path, bytes.toString())
  }
  for (const { path, bytes, contentType } of files) {
    if (await budget.excludeByName(path, bytes.length)) continue
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
    if (page.length + chunk.length > MAX_CONTENT_BYTES) throw tooLarge('The HTML page', MAX_CONTENT_BYTES)
    page.append(chunk)
  }
  yield* contentFiles([{ path: 'index.html', bytes: page.take() }], budget)
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

export function hasContents(files: unknown): files is unknown[] {
  return Array.isArray(files) && files.some((file) => contentText(file) !== undefined)
}

/** In UTF-8, as text or base64. Accepts a value of any shape. */
export function contentTextBytes(files: unknown): number {
  if (!Array.isArray(files)) return 0
  return files.reduce((sum: number, file) => sum + Buffer.byteLength(contentText(file) ?? ''), 0)
}

/**
 * Each has a path and either `content` or `contentBase64`. VALIDATION_ERROR with all problems, PAYLOAD_TOO_LARGE beyond
 * `maxBytes`. Rules of a manifest, such as those of paths, are not checked.
 */
export function readContentFiles(entries: readonly unknown[], maxBytes = MAX_CONTENT_BYTES): ContentFile[] {
  const problems: FieldError[] = []
  const files = entries.flatMap((entry, index) => {
    const add = (name: string, message: string) => problems.push({ field: `files[${index}]${name}`, message })
    return readContentFile(entry, add) ?? []
  })
  if (problems.length > 0) throw validationError(problems)
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
  if (bytes > maxBytes) {
    const sentence = `The contents of the files are too large. The limit is ${formatLimit(maxBytes)} per request.`
    throw new ApiError('PAYLOAD_TOO_LARGE', sentence)
  }
  return files
}

function readContentFile(
  entry: unknown,
  add: (name: string, message: string) => void,
): ContentFile | undefined {
  const file = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>
  const { path, content, contentBase64, contentType, size, hash: digest } = file
  if (typeof path !== 'string') {
    add('.path', 'must be a string')
    return undefined
  }
  const about = ` ('${sanitizePath(path)}')`
  if (contentText(file) === undefined || (content !== undefined && contentBase64 !== undefined)) {
    add('', `must have either content or contentBase64, like the other files of the request${about}`)
    return undefined
  }
  if (contentBase64 !== undefined && !isBase64(contentBase64)) {
    add('.contentBase64', `must be base64 with + and /${about}`)
    return undefined
  }
  if (typeof content === 'string' && !content.isWellFormed())
    add('.content', `must not contain unpaired surrogates${about}`)
  const bytes =
    typeof content === 'string' ? Buffer.from(content) : Buffer.from(String(contentBase64), 'base64')
  if (size !== undefined && size !== bytes.length)
    add('.size', `must be ${bytes.length}, as the content has${about}`)
  if (digest !== undefined && digest !== hash('sha256', bytes))
    add('.hash', `must be that of the content${about}`)
  if (contentType !== undefined && typeof contentType !== 'string')
    add('.contentType', `must be a string${about}`)
  return { path, bytes, ...(typeof contentType === 'string' ? { contentType } : {}) }
}

function contentText(file: unknown): string | undefined {
  const { content, contentBase64 } = (file ?? {}) as { content?: unknown; contentBase64?: unknown }
  const text = content ?? contentBase64
  return typeof text === 'string' ? text : undefined
}

function isBase64(text: unknown): boolean {
  return typeof text === 'string' && text.length % 4 === 0 && BASE64.test(text)
}
