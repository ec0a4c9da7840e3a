import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/settings.ts'
import { findSecretProblem } from '../../lib/secret-length.ts'
import { type CheckResult, failed, ok } from './check-result.ts'

export function checkSecret({ secret, data }: Config): CheckResult {
  const file = join(data, 'secret')
  const stored = secret || readSecret(data)
  if (stored === undefined) return ok('secret', `${file} is created by the first start`)
  const place = secret ? 'SLIPWAY_SECRET' : file
  const problem = findSecretProblem(stored)
  if (problem !== undefined) return failed('secret', `${place}: ${problem}`)
  const mode = secret ? 0 : statSync(file).mode & 0o077
  if (mode !== 0) return failed('secret', `${file} can be read by other users: chmod 600 ${file}`)
  return ok('secret', `${place} has ${stored.length} characters`)
}

/** Undefined when there is no secret, or when it belongs to another user. */
export function readSecret(data: string): string | undefined {
  try {
    return readFileSync(join(data, 'secret'), 'utf8').trim()
  } catch {
    return undefined
  }
}
