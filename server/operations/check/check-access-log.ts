import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config/settings.ts'
import { type CheckResult, failed, ok } from './check-result.ts'

/** Whether the log can be written, or created in its folder. */
export function checkAccessLog({ accessLog: path }: Config): CheckResult[] {
  if (path === 'off' || path === 'stdout') return []
  const name = 'access log'
  const target = existsSync(path) ? path : dirname(path)
  try {
    accessSync(target, constants.W_OK)
    if (statSync(target).isDirectory() === (target !== path)) return [ok(name, path)]
  } catch {
    // The message names what is missing.
  }
  const advice = 'create its folder, owned by the user of the service'
  return [failed(name, `SLIPWAY_ACCESS_LOG: the user of this process cannot write to ${path}: ${advice}`)]
}
