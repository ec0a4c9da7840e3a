export interface Bucket {
  name: string
  /** Of the keys of all objects: empty, or with a slash at its end. */
  prefix: string
  region: string
  /** Scheme and host without the name of the bucket. */
  endpoint: URL
  /** Whether the name of the bucket is in the path, not in the host. */
  isPathStyle: boolean
}

/** The rules of AWS for new buckets, and the underscores and capitals of other servers. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i
const PREFIX = /^[\w.!*'()/-]*$/
const REGION = /^[a-z0-9-]+$/
const PARAMETERS = ['endpoint', 'region']

/** For servers other than AWS, most of which accept any region. */
const DEFAULT_REGION = 'us-east-1'

/**
 * Parses `s3://bucket/prefix?endpoint=https://…&region=…`. Without an endpoint it is that of AWS in the region. With an
 * endpoint, or with dots in its name, which certificates do not match, the bucket is in the path. Throws an Error with
 * a sentence that names the part.
 */
export function parseBucketUrl(text: string): Bucket {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 's3:' || url.hash !== '')
    throw new Error('must have the form s3://bucket/prefix?endpoint=https://host&region=name')
  if (url.username !== '' || url.password !== '' || url.port !== '')
    throw new Error(
      'must have no user, password or port; credentials are in AWS_ACCESS_KEY_ID or a file of AWS',
    )
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) throw new Error(`has an unknown parameter "${unknown}"; use endpoint or region`)
  if (!BUCKET_NAME.test(url.hostname)) throw new Error(`has an invalid bucket "${url.hostname}"`)
  const endpoint = url.searchParams.get('endpoint')
  const region = url.searchParams.get('region') ?? (endpoint === null ? undefined : DEFAULT_REGION)
  if (region === undefined || !REGION.test(region))
    throw new Error('must name the region: ?region=eu-central-1')
  return {
    name: url.hostname,
    prefix: parsePrefix(url.pathname),
    region,
    endpoint: parseEndpoint(endpoint ?? `https://s3.${region}.amazonaws.com`),
    isPathStyle: endpoint !== null || url.hostname.includes('.'),
  }
}

function parsePrefix(path: string): string {
  const prefix = path.split('/').filter(Boolean).join('/')
  if (!PREFIX.test(prefix)) throw new Error('must have a prefix of letters, digits and ! - _ . * ( ) /')
  return prefix === '' ? '' : `${prefix}/`
}

function parseEndpoint(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
  if (!isOrigin) throw new Error('must have an endpoint of the form https://host:port')
  return url
}
