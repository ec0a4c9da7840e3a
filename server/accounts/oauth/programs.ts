import { COMMAND_LINE_CLIENT, DEVICE_GRANT_TYPE } from '../../../protocol/api/device.ts'
import type {
  AuthorizationRequest,
  AuthorizationResult,
  AuthorizedProgram,
  ProgramList,
  ProgramRevokedResponse,
} from '../../../protocol/api/programs.schema.ts'
import { PROGRAM_SCOPES, type ProgramScope, scopesUpTo, widestScope } from '../../../protocol/api/programs.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import { toPlainLine } from '../../lib/plain-line.ts'
import { toIso } from '../../lib/time.ts'
import { constantTimeEqual } from '../../lib/tokens.ts'
import type { Queries } from '../../store/queries.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { OAuthRecord } from '../../store/tables/keys.ts'
import { assertNotBeingDeleted, type Caller } from '../authorization.ts'
import { endLinksOfEndedKeys } from '../review-frames.ts'
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  INTERACTION_LIFETIME_SECONDS,
  openAuthorizationServer,
} from './authorization-server.ts'
import { deleteTokens, GRANT_LIFETIME_SECONDS, hasStarted, oauthIdHash } from './oauth-records.ts'

const PROGRAM_ID_LENGTH = 16

const MAX_NAME_LENGTH = 64

const GRANT_PARAMETERS = [
  ['refresh_token', 'RefreshToken'],
  ['code', 'AuthorizationCode'],
] as const

/** RFC 6749, 4.1.1, after the library's checks. */
interface AuthorizationParameters {
  client_id: string
  redirect_uri: string
  scope?: string
}

export interface ProgramClient {
  name: string
  grantTypes: readonly string[]
}

const COMMAND_LINE: ProgramClient = { name: 'Slipway command line', grantTypes: [DEVICE_GRANT_TYPE] }

/** Programs act for accounts, with tokens of OAuth. Stores only hashes of codes and tokens. */
export class Programs extends Component<AuthorizationServerOptions> {
  #server: Promise<AuthorizationServer> | undefined

  /** The server, which is loaded by its first request. */
  server(): Promise<AuthorizationServer> {
    this.#server ??= openAuthorizationServer(this.parts)
    return this.#server
  }

  /** Undefined when the token is not valid for this service. */
  async find(
    token: string,
    { oauth }: Pick<Queries, 'oauth'>,
  ): Promise<Pick<Caller, 'account' | 'grant' | 'accessHash'> | undefined> {
    const { clock, resource } = this.parts
    const found = await oauth.findWithAccount(oauthIdHash('AccessToken', token), clock())
    if (!found) return undefined
    const { payload, expiresAt, grantHash } = found.record
    if (payload.aud !== resource) return undefined
    const grant = { scope: widest(payload.scope), sites: null, expiresAt }
    return { account: found.account, grant, accessHash: grantHash! }
  }

  /** The account of the refresh token or the code; undefined without one. */
  async findOwner(parameters: URLSearchParams): Promise<Account | undefined> {
    const { store, clock } = this.parts
    for (const [name, kind] of GRANT_PARAMETERS) {
      const hash = oauthIdHash(kind, parameters.get(name) ?? '')
      const found = await store.read.oauth.findWithAccount(hash, clock())
      if (found) return found.account
    }
    return undefined
  }

  /** A registered program, or the command line. */
  async findClient(id: string): Promise<ProgramClient | undefined> {
    if (id === COMMAND_LINE_CLIENT) return COMMAND_LINE
    const { store, clock } = this.parts
    const client = await store.read.oauth.find(oauthIdHash('Client', id), clock())
    if (!client) return undefined
    const { client_name: name, grant_types: types } = client.payload
    return { name: programName(name), grantTypes: (types as readonly string[] | undefined) ?? [] }
  }

  /** NOT_FOUND in another browser than that of `cookie`: a link could authorize the program of someone else. */
  async describe(id: string, cookie: string | undefined): Promise<AuthorizationRequest> {
    const { params } = await this.#interaction(id, cookie)
    const { provider } = await this.server()
    const client = await provider.Client.find(params.client_id)
    return {
      program: programName(client?.clientName),
      returnsTo: returnTarget(params.redirect_uri),
      scope: widest(params.scope),
      expiresAt: toIso(this.parts.clock() + GRANT_LIFETIME_SECONDS * 1000),
    }
  }

  /** Once, else ALREADY_DECIDED; valid while the credential `allowedBy` is. See also `describe`. */
  async decide(
    account: Account,
    decision: { id: string; cookie: string | undefined; allow: boolean; allowedBy: string },
  ): Promise<AuthorizationResult> {
    const { id, cookie, allow, allowedBy } = decision
    const { resource, store, clock } = this.parts
    const { provider } = await this.server()
    const { interaction, params } = await this.#interaction(id, cookie)
    await this.#decideOnce(account, id)
    if (allow) {
      const grant = new provider.Grant({ accountId: account.id, clientId: params.client_id })
      grant.addResourceScope(resource, scopesUpTo(widest(params.scope)))
      const grantId = await grant.save()
      const saved = (await store.read.oauth.find(oauthIdHash('Grant', grantId), clock()))!
      const record = { ...saved, payload: { ...saved.payload, allowedBy } }
      await store.execute('durable', ({ oauth }) => oauth.save(record))
      interaction.result = { login: { accountId: account.id, remember: false }, consent: { grantId } }
    } else interaction.result = { error: 'access_denied', error_description: 'The user denied access' }
    await interaction.persist()
    return { url: interaction.returnTo }
  }

  async list({ id }: Account): Promise<ProgramList> {
    const { store, clock } = this.parts
    const now = clock()
    const grants = (await store.read.oauth.list(id, 'Grant', now)).filter(hasStarted)
    const clientHash = (grant: OAuthRecord) => oauthIdHash('Client', String(grant.payload.clientId))
    const clients = await store.read.oauth.findAll([...new Set(grants.map(clientHash))], now)
    const names = new Map([
      ...this.parts.clients.map(({ id, name }) => [oauthIdHash('Client', id), name] as const),
      ...clients.map((client) => [client.idHash, client.payload.client_name] as const),
    ])
    return { programs: grants.map((grant) => this.#summarize(grant, names.get(clientHash(grant)))) }
  }

  /** NOT_FOUND without an access of this id. */
  async revoke(account: Account, id: string): Promise<ProgramRevokedResponse> {
    const { store, clock } = this.parts
    const { idHash } = await store.write('durable', { account: account.id }, async (tx) => {
      const grants = await tx.oauth.list(account.id, 'Grant', clock())
      const found = grants.find((grant) => hasStarted(grant) && programId(grant) === id)
      if (!found) throw new ApiError('NOT_FOUND', 'Program not found. Its access may have ended.')
      await tx.rows.remove('oauth_records', { idHash: found.idHash })
      await endLinksOfEndedKeys(tx, account.id, clock())
      return found
    })
    await deleteTokens(store, idHash)
    return { id, revoked: true }
  }

  async #interaction(id: string, cookie: string | undefined) {
    const { provider } = await this.server()
    const interaction =
      cookie !== undefined && constantTimeEqual(cookie, id) ? await provider.Interaction.find(id) : undefined
    if (interaction) return { interaction, params: interaction.params as unknown as AuthorizationParameters }
    throw new ApiError('NOT_FOUND', 'This request of a program has expired, or began in another browser', {
      hint: 'Connect again in the program.',
    })
  }

  async #decideOnce(account: Account, id: string): Promise<void> {
    const { store, clock } = this.parts
    const now = clock()
    const isFirst = await store.write('durable', { account: account.id }, async (tx) => {
      await assertNotBeingDeleted(tx, account)
      return tx.oauth.consume(oauthIdHash('Interaction', id), now, now + INTERACTION_LIFETIME_SECONDS * 1000)
    })
    if (!isFirst) throw new ApiError('ALREADY_DECIDED', 'The request of this program was decided before')
  }

  #summarize(grant: OAuthRecord, name: unknown): AuthorizedProgram {
    return {
      id: programId(grant),
      program: programName(name),
      scope: grantedScope(grant),
      createdAt: toIso(grant.createdAt),
      expiresAt: toIso(grant.expiresAt),
    }
  }
}

function programId({ idHash }: OAuthRecord): string {
  return idHash.slice(0, PROGRAM_ID_LENGTH)
}

/** Makes one line in which something shows. */
export function programName(name: unknown): string {
  return toPlainLine(typeof name === 'string' ? name : '', MAX_NAME_LENGTH) || 'Unnamed program'
}

/** The narrowest for a request without a scope. */
function widest(scope: unknown): ProgramScope {
  return widestScope(String(scope ?? '')) ?? PROGRAM_SCOPES[0]
}

export function grantedScope({ payload }: OAuthRecord): ProgramScope {
  return widest(Object.values(payload.resources ?? {}).join(' '))
}

/** The host, or the scheme for a program on the device. */
export function returnTarget(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return protocol === 'https:' || protocol === 'http:' ? host : protocol
}
