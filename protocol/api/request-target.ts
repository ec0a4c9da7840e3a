/** A path with its parameters, each one segment except that of `*`, and a query without what is undefined. */
export function requestTarget(
  path: string,
  params: Readonly<Record<string, unknown>> = {},
  query: object = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  const filled = path.replace(/:(\w+)|\*/g, (all, name: string | undefined) => {
    const value = String(params[name ?? all])
    return name === undefined ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value)
  })
  return text === '' ? filled : `${filled}?${text}`
}
