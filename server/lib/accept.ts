/** Whether a client accepts a media type (RFC 9110, section 12.5.1): by its most specific range, and without any. */
export function acceptsMediaType(accept: string | undefined, type: string): boolean {
  const [main] = type.split('/')
  const qualities = new Map((accept || '*/*').toLowerCase().split(',').map(readRange))
  return (qualities.get(type) ?? qualities.get(`${main}/*`) ?? qualities.get('*/*') ?? 0) > 0
}

function readRange(part: string): [range: string, quality: number] {
  const [range = '', ...parameters] = part.split(';').map((one) => one.trim())
  const weight = parameters.find((one) => one.startsWith('q='))
  return [range, weight === undefined ? 1 : Number(weight.slice(2))]
}
