/** Variables of the service that every program may read. */
const PUBLIC_VARIABLES = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR']

/**
 * The environment of a hook: none of the service's own settings, which hold its secrets. Variables whose names begin with
 * `prefix` are for it.
 */
export function hookEnvironment(
  environment: Record<string, string | undefined>,
  { prefix, names = [] }: { prefix: string; names?: readonly string[] },
): Readonly<Record<string, string>> {
  const passed = new Set([...PUBLIC_VARIABLES, ...names])
  const isPassed = (name: string) => passed.has(name) || name.startsWith(prefix)
  const entries = Object.entries(environment).filter(([name, value]) => isPassed(name) && value !== undefined)
  return Object.freeze(Object.fromEntries(entries) as Record<string, string>)
}
