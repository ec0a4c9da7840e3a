import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import { formatLimit, pluralize } from '../../protocol/format.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { type ContentCoding, type DecodedBody, measureDecoded } from '../blobs/content-coding.ts'
import { SharedSemaphore } from '../lib/concurrency-limiter.ts'
import { ContentCodingRules } from '../site-rules/match/header-rules.ts'
import type { HeaderRule } from '../site-rules/parse/header-rule.ts'
import { runInSlices } from '../site-rules/parse/slices.ts'
import type { ManifestFile } from '../store/tables/versions.ts'
import type { VersionSource } from './publish-queue.ts'

/** A bomb would decode for hours, at each visit too. */
const MAX_DECODED_BYTES = 2 ** 30

/** Publishes take turns, a file each: each takes a thread that flushes need as well. */
const decoding = new SharedSemaphore({ running: 2, waiting: 64 })

interface CodingOptions {
  rules: readonly HeaderRule[]
  /** The files of the live version, also for a preview. */
  present: () => Promise<readonly ManifestFile[]>
  /** Bytes that are decoded in all, whether a file has the coding or not. */
  maxDecodedBytes?: number
}

/**
 * Sets the content coding of files for which `_headers` sets `Content-Encoding` and whose bytes have it, as decoding
 * all of them shows. What is known of `present` files is not decoded again; `decoded` are the others that have a coding.
 */
export async function findContentCodings<File extends ManifestFile>(
  { reader, publisher }: VersionSource,
  files: readonly File[],
  { rules, present, maxDecodedBytes = MAX_DECODED_BYTES }: CodingOptions,
): Promise<{ files: File[]; decoded: ReadonlySet<File>; warnings: PublishWarning[] }> {
  const decoded = new Set<File>()
  if (rules.every(({ coding }) => coding === undefined)) return { files: [...files], decoded, warnings: [] }
  const matching = await runInSlices(matchingSteps(new ContentCodingRules(rules), files))
  const known = new Map<string, DecodedBody>()
  for (const { hash, coded } of await present())
    if (coded) known.set(toKey(hash, coded.coding), { size: coded.decodedSize })
  const knownBefore = new Set(known.keys())
  let bytesLeft = maxDecodedBytes
  // The smallest first, so that one that decodes to more than all may have leaves the others theirs.
  for (const [file, { coding }] of [...matching].sort(([one], [other]) => one.size - other.size)) {
    const key = toKey(file.hash, coding)
    const content =
      known.get(key) ??
      (await decoding.run(publisher, () => decode(reader, file, { coding, maxBytes: bytesLeft })))
    if (!content.problem || !known.has(key)) bytesLeft -= content.size
    known.set(key, content)
  }
  const problems = new Map<HeaderRule, Problem>()
  const coded = files.map((file): File => {
    const matched = matching.get(file)
    if (!matched) return file
    const { rule, coding } = matched
    const key = toKey(file.hash, coding)
    const { size, problem } = known.get(key)!
    if (problem) {
      addProblem(problems, { rule, coding, path: file.path, kind: problem })
      return file
    }
    const found = { ...file, coded: { coding, decodedSize: size } }
    if (!knownBefore.has(key)) decoded.add(found)
    return found
  })
  return {
    files: coded,
    decoded,
    warnings: [...problems.values()].map((problem) => toWarning(problem, maxDecodedBytes)),
  }
}

type MatchedRule = NonNullable<ReturnType<ContentCodingRules['find']>>

function* matchingSteps(
  codings: ContentCodingRules,
  files: readonly ManifestFile[],
): Generator<void, Map<ManifestFile, MatchedRule>> {
  const matching = new Map<ManifestFile, MatchedRule>()
  for (const file of files) {
    const found = file.size > 0 && codings.find(file.path)
    if (found) matching.set(file, found)
    yield
  }
  return matching
}

function toKey(hash: string | undefined, coding: ContentCoding): string {
  return `${coding} ${hash}`
}

async function decode(
  reader: BlobReader,
  { hash }: ManifestFile,
  { coding, maxBytes }: { coding: ContentCoding; maxBytes: number },
): Promise<DecodedBody> {
  if (maxBytes <= 0) return { size: 0, problem: 'too-large' }
  const body = await reader.read(hash!)
  if (!body) throw new Error(`The blob ${hash} is missing`)
  return measureDecoded(body, coding, maxBytes)
}

interface Problem {
  rule: HeaderRule
  coding: ContentCoding
  path: string
  count: number
  kind: NonNullable<DecodedBody['problem']>
}

function addProblem(problems: Map<HeaderRule, Problem>, problem: Omit<Problem, 'count'>): void {
  const known = problems.get(problem.rule)
  if (known) known.count++
  else problems.set(problem.rule, { ...problem, count: 1 })
}

function toWarning(
  { rule: { line }, coding, path, count, kind }: Problem,
  maxDecodedBytes: number,
): PublishWarning {
  const others = count > 1 ? ` and ${pluralize(count - 1, 'other file')}` : ''
  const names = `${sanitizePath(path)}${others}`
  const reason =
    kind === 'other'
      ? `the bytes are not ${coding}`
      : `with the smaller files, the bytes decode to more than ${formatLimit(maxDecodedBytes)}`
  return { file: '_headers', line, message: `Content-Encoding is not sent for ${names}: ${reason}` }
}
