/** The parts of the library that the service uses; it has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export interface AdapterPayload {
    [name: string]: unknown
    accountId?: string
    grantId?: string
  }

  export interface Adapter {
    upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void>
    find(id: string): Promise<AdapterPayload | undefined>
    findByUserCode(userCode: string): Promise<undefined>
    findByUid(uid: string): Promise<undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  interface Interaction {
    uid: string
    returnTo: string
    params: { client_id: string; redirect_uri: string; scope?: string }
    result?: object
    persist(): Promise<string>
  }

  interface Grant {
    addResourceScope(resource: string, scope: string): void
    save(): Promise<string>
  }

  interface Client {
    clientId: string
    clientName?: string
  }

  interface RefreshToken {
    jti: string
    grantId: string
    generateTokenId(): string
  }

  export class Provider {
    static readonly ctx: { oidc: { entities: { RotatedRefreshToken?: RefreshToken } } } | undefined
    constructor(issuer: string, configuration: object)
    proxy: boolean
    callback(): RequestListener
    registerGrantType(name: string, handler: () => Promise<void>): void
    Interaction: { find(uid: string): Promise<Interaction | undefined> }
    Grant: new (properties: {
      accountId: string
      clientId: string
    }) => Grant
    RefreshToken: { prototype: RefreshToken }
    Client: {
      find(id: string): Promise<Client | undefined>
      Schema: { prototype: { redirectUris(): void } }
    }
  }

  export const errors: Record<'InvalidGrant' | 'InvalidTarget', new (detail?: string) => Error>
}
