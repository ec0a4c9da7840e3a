import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import { formatLimit, pluralize } from '../../protocol/format.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { type CodedContent, type ContentCoding, measureDecoded } from '../blobs/content-coding.ts'
import { ContentCodingRules } from '../site-rules/match/content-coding-rules.ts'
import type { HeaderRule } from '../site-rules/parse/header-rule.ts'
import { runInSlices } from '../site-rules/parse/slices.ts'
import type { ManifestFile } from '../store/tables/versions.ts'

/** A bomb would decode for hours, at each visit too. */
const MAX_DECODED_BYTES = 2 ** 30

interface CodedFiles {
  files: ManifestFile[]
  warnings: PublishWarning[]
}

interface CodingOptions {
  rules: readonly HeaderRule[]
  /** The files of the version that this one replaces. */
  present: () => Promise<readonly ManifestFile[]>
  /** Bytes that the files can decode to, in all. */
  maxDecodedBytes?: number
}

/**
 * Sets the content coding of files for which `_headers` sets `Content-Encoding` and whose bytes have it, as decoding
 * all of them shows. What is known of `present` files is not decoded again.
 */
export async function findContentCodings(
  reader: BlobReader,
  files: readonly ManifestFile[],
  { rules, present, maxDecodedBytes = MAX_DECODED_BYTES }: CodingOptions,
): Promise<CodedFiles> {
  const codings = new ContentCodingRules(rules)
  if (codings.isEmpty) return { files: [...files], warnings: [] }
  const matching = await runInSlices(matchingSteps(codings, files))
  const known = new Map((await present()).map(({ hash, coded }) => [hash, coded]))
  const problems = new Map<HeaderRule, Problem>()
  let bytesLeft = maxDecodedBytes
  const coded: ManifestFile[] = []
  for (const file of files) {
    const found = matching.get(file)
    if (found === undefined) {
      coded.push(file)
      continue
    }
    const { rule, coding } = found
    const before = known.get(file.hash)
    const content =
      before?.coding === coding ? before : await decode(reader, file, { coding, maxBytes: bytesLeft })
    bytesLeft -= typeof content === 'object' ? content.decodedSize : 0
    if (typeof content === 'object') coded.push({ ...file, coded: content })
    else {
      coded.push(file)
      addProblem(problems, { rule, coding, path: file.path, kind: content })
    }
  }
  return {
    files: coded,
    warnings: [...problems.values()].map((problem) => toWarning(problem, maxDecodedBytes)),
  }
}

type MatchedRule = NonNullable<ReturnType<ContentCodingRules['find']>>

/** Checks one file in each step. */
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

/** Decoded, or why the file is served as it is. */
async function decode(
  reader: BlobReader,
  { hash }: ManifestFile,
  { coding, maxBytes }: { coding: ContentCoding; maxBytes: number },
): Promise<CodedContent | 'other' | 'too-large'> {
  const body = await reader.read(hash!)
  if (!body) throw new Error(`The blob ${hash} is missing`)
  const decodedSize = await measureDecoded(body, coding, maxBytes)
  if (decodedSize === undefined) return 'other'
  return decodedSize === Infinity ? 'too-large' : { coding, decodedSize }
}

interface Problem {
  rule: HeaderRule
  coding: ContentCoding
  path: string
  count: number
  kind: 'other' | 'too-large'
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
      : `with the files before, the bytes decode to more than ${formatLimit(maxDecodedBytes)}`
  return { file: '_headers', line, message: `Content-Encoding is not sent for ${names}: ${reason}` }
}
