import type { ErrorCode } from '../protocol/api/errors.schema.ts'
import type { SiteRight } from '../server/accounts/authorization.ts'
import type { Api, ApiRequest } from './api/api.ts'
import type { ApiResponse } from './api/api-response.ts'
import { ACCOUNT_CALLS } from './calls/accounts.ts'
import { ADMINISTRATION_CALLS } from './calls/administration.ts'
import type { CallFixture } from './calls/fixture.ts'
import { PUBLISH_CALLS } from './calls/publish.ts'
import { REVIEW_CALLS } from './calls/reviews.ts'
import { SITE_CALLS } from './calls/sites.ts'

/** A call of the API: a route, a request that succeeds, and what each kind of caller gets. */
export interface Call {
  /** Method and path, as the OpenAPI document has them. */
  route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`
  /**
   * The credential that it needs: `public` ignores keys, `any` accepts each valid one, `admin` needs an administrator.
   * Otherwise the least scope of a key and its reach (`ACCEPTED_KEYS`).
   */
  access: 'public' | 'any' | 'admin' | KeyAccess
  /** Whether it succeeds without a key too. */
  anonymous?: true
  /** Whether a key of scope `preview` suffices when it publishes a preview. */
  previews?: true
  /**
   * The right that an account needs to the site of the call, or `own` for what only the account sees that created it: its
   * keys, its domains, its trash (`ACCOUNT_REFUSALS`).
   */
  right?: SiteRight | 'own'
  /** A request that the claim token of a site without an owner permits in place of a key, and the token. */
  unowned?: (fixture: CallFixture) => Promise<{ request: CallRequest; claimToken: string }>
  /** Whether it has a durable write. */
  writes: boolean
  /** Creates through the API what must exist, and returns a request that succeeds. */
  prepare: (fixture: CallFixture) => CallRequest | Promise<CallRequest>
  /** Changes of the request, and the error of each. */
  errors?: readonly (readonly [code: ErrorCode, change: CallRequest])[]
  /** The action that it adds to the audit log, as each write of an administrator does. */
  audit?: string
}

/** A request of a call. */
export interface CallRequest {
  /** Has at least the parameters of the path. */
  path?: object
  query?: string
  headers?: Record<string, string>
  json?: unknown
  body?: string | Buffer
  /** The credential that the call is about; it needs this one in place of that of its caller. */
  as?: Credential
  /** Whether the response is a stream without an end. */
  isStream?: true
  /** The address to which the service sends the reason that the request states. */
  notifies?: string
}

export type Credential = Pick<ApiRequest, 'key' | 'headers'>

/** The calls of all routes, by `operationId`. */
export const CALLS: Readonly<Record<string, Call>> = {
  ...ACCOUNT_CALLS,
  ...PUBLISH_CALLS,
  ...REVIEW_CALLS,
  ...SITE_CALLS,
  ...ADMINISTRATION_CALLS,
}

const [yes, no] = [true, false]

/** Whether a call accepts a key of the owner with a narrower scope, or with one limit and scope manage. */
// biome-ignore format: a matrix
export const ACCEPTED_KEYS = {
  'read site':          { read: yes, preview: yes, publish: yes, ofSite: yes, ofOtherSite: no, expiring: yes },
  'read account':       { read: yes, preview: yes, publish: yes, ofSite: no,  ofOtherSite: no, expiring: yes },
  'preview site':       { read: no,  preview: yes, publish: yes, ofSite: yes, ofOtherSite: no, expiring: yes },
  'publish site':       { read: no,  preview: no,  publish: yes, ofSite: yes, ofOtherSite: no, expiring: yes },
  'publish account':    { read: no,  preview: no,  publish: yes, ofSite: no,  ofOtherSite: no, expiring: yes },
  'manage site':        { read: no,  preview: no,  publish: no,  ofSite: yes, ofOtherSite: no, expiring: yes },
  'manage account':     { read: no,  preview: no,  publish: no,  ofSite: no,  ofOtherSite: no, expiring: yes },
  'manage credentials': { read: no,  preview: no,  publish: no,  ofSite: no,  ofOtherSite: no, expiring: no  },
}
type KeyAccess = keyof typeof ACCEPTED_KEYS

/** Why an account is refused that may call this for a site of its own, by the right that the call needs. */
// biome-ignore format: a matrix
export const ACCOUNT_REFUSALS = {
  read:    { stranger: 'NOT_FOUND', collaborator: undefined,        ownerOfSuspended: undefined,        ownerOfDeleted: 'NOT_FOUND' },
  publish: { stranger: 'NOT_FOUND', collaborator: undefined,        ownerOfSuspended: 'SITE_SUSPENDED', ownerOfDeleted: 'NOT_FOUND' },
  remove:  { stranger: 'NOT_FOUND', collaborator: undefined,        ownerOfSuspended: undefined,        ownerOfDeleted: 'NOT_FOUND' },
  manage:  { stranger: 'NOT_FOUND', collaborator: 'OWNER_REQUIRED', ownerOfSuspended: 'SITE_SUSPENDED', ownerOfDeleted: 'NOT_FOUND' },
  delete:  { stranger: 'NOT_FOUND', collaborator: 'OWNER_REQUIRED', ownerOfSuspended: undefined,        ownerOfDeleted: 'NOT_FOUND' },
  own:     { stranger: 'NOT_FOUND', collaborator: 'NOT_FOUND',      ownerOfSuspended: undefined,        ownerOfDeleted: undefined },
} satisfies Record<SiteRight | 'own', Record<string, ErrorCode | undefined>>

/** Sends the request of a call with a credential, which the one that the request needs replaces. */
export async function sendCall(
  api: Api,
  { route }: Call,
  request: CallRequest,
  credential: Credential = {},
): Promise<ApiResponse> {
  const { path = {}, query = '', json, body, isStream } = request
  const { key, headers } = request.as ?? credential
  const [method, template] = route.split(' ') as [string, string]
  const fill = (_: string, name: string) =>
    encodeURIComponent(String((path as Record<string, unknown>)[name]))
  const target = template.replace(/\{(\w+)\}/g, fill) + query
  return api.request(method, target, {
    ...{ key, json, body, isStream, headers: { ...headers, ...request.headers } },
  })
}
