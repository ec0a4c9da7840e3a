/** One thing that a configuration needs. */
export interface CheckResult {
  name: string
  /** A warning does not prevent operation. */
  status: 'ok' | 'warning' | 'failed'
  /** What was found and, unless it is right, what to change. Never a secret. */
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
