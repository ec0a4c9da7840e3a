import type { PublishWarning } from '../../client/wire.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { neededBytes } from '../blobs/needed.ts'
import type { StoredFile } from '../file.ts'
import { MOST_RULES_BYTES, parseRules, type SiteRules, tooLong } from './site-rules.ts'

/** The rules of a version, and what is wrong with the files that say them. */
interface Found {
  rules: SiteRules | null
  warnings: PublishWarning[]
}

/**
 * Reads `_redirects` and `_headers` at the root of a version, where it has them (contract, "Serving" 2). Whatever they
 * hold, the version can be served. UNAVAILABLE when they cannot be read.
 */
export async function readRules(blobs: Blobs, files: readonly StoredFile[]): Promise<Found> {
  const warnings: PublishWarning[] = []
  const leftOut = (warning: PublishWarning): undefined => void warnings.push(warning)
  const textOf = async (path: '_redirects' | '_headers'): Promise<string | undefined> => {
    const file = files.find((one) => one.path === path)
    if (!file) return undefined
    if (file.size > MOST_RULES_BYTES) return leftOut(tooLong(path))
    return decoded(await neededBytes(blobs, file.hash!)) ?? leftOut(notText(path))
  }
  const redirects = await textOf('_redirects')
  const headers = await textOf('_headers')
  if (redirects === undefined && headers === undefined) return { rules: null, warnings }
  const parsed = parseRules({ redirects, headers })
  return { rules: parsed.rules, warnings: [...warnings, ...parsed.warnings] }
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function notText(file: string): PublishWarning {
  return { file, message: 'The file is left out because it is not UTF-8 text' }
}
