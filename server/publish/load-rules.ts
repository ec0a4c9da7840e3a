import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { runInSlices } from '../site-rules/parse/slices.ts'
import { MAX_RULE_FILE_BYTES, type ParsedRules, ruleSteps, tooLongWarning } from '../site-rules/site-rules.ts'

/** Contract, "Serving" 2. The content never prevents serving the version. UNAVAILABLE when a file cannot be read. */
export async function loadRules(blobs: BlobReader, files: readonly StoredFile[]): Promise<ParsedRules> {
  const warnings: PublishWarning[] = []
  const leftOut = (warning: PublishWarning): undefined => void warnings.push(warning)
  const readText = async (path: '_redirects' | '_headers'): Promise<string | undefined> => {
    const file = files.find((one) => one.path === path)
    if (!file) return undefined
    if (file.size > MAX_RULE_FILE_BYTES) return leftOut(tooLongWarning(path))
    const bytes = await blobs.bytes(file.hash!)
    if (!bytes) throw new Error(`The blob ${file.hash} is missing`)
    return decodeUtf8(bytes) ?? leftOut(notTextWarning(path))
  }
  const redirects = await readText('_redirects')
  const headers = await readText('_headers')
  if (redirects === undefined && headers === undefined) return { rules: null, warnings }
  const parsed = await runInSlices(ruleSteps({ redirects, headers }))
  return { rules: parsed.rules, warnings: [...warnings, ...parsed.warnings] }
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function notTextWarning(file: string): PublishWarning {
  return { file, message: 'file ignored: it is not UTF-8 text' }
}
