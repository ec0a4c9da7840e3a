export interface CheckResult {
  name: string
  /** A warning does not prevent operation. */
  status: 'ok' | 'warning' | 'failed'
  /** Names what to change, if something is wrong. Never a secret. */
  message: string
}

export function ok(name: string, message: string): CheckResult {
  return { name, status: 'ok', message }
}

export function warning(name: string, message: string): CheckResult {
  return { name, status: 'warning', message }
}

export function failed(name: string, message: string): CheckResult {
  return { name, status: 'failed', message }
}
