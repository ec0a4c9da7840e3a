import { randomBytes } from 'node:crypto'
import type { ChallengeType } from '../../server/certificates/acme/acme.ts'

export interface CaOrder {
  id: string
  account: string
  names: string[]
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  authorizations: CaAuthorization[]
  replaces: string | undefined
  profile: string | undefined
  /** PEM, once it is valid. */
  chain: string | undefined
}

export interface CaAuthorization {
  id: string
  account: string
  /** Without `*.`. */
  name: string
  wildcard: boolean
  status: 'pending' | 'valid' | 'invalid'
  challenges: CaChallenge[]
}

export interface CaChallenge {
  id: string
  type: ChallengeType
  token: string
  status: 'pending' | 'processing' | 'valid' | 'invalid'
  error: { type: string; detail: string } | undefined
}

/** The orders and authorizations of a CA, by the ids in their URLs. */
export class CaOrders {
  readonly orders = new Map<string, CaOrder>()
  readonly authorizations = new Map<string, CaAuthorization>()

  open(
    account: string,
    names: string[],
    more: { replaces?: string; profile?: string; reuse: boolean },
  ): CaOrder {
    const order: CaOrder = {
      id: newId(),
      account,
      names,
      status: 'pending',
      authorizations: names.map(
        (name) => (more.reuse && this.#proven(account, name)) || this.#createAuthorization(account, name),
      ),
      replaces: more.replaces,
      profile: more.profile,
      chain: undefined,
    }
    this.orders.set(order.id, order)
    this.settle(order)
    return order
  }

  challenge(id: string): { authorization: CaAuthorization; challenge: CaChallenge } | undefined {
    const [authorizationId] = id.split('-')
    const authorization = this.authorizations.get(authorizationId!)
    const challenge = authorization?.challenges.find((one) => one.id === id)
    return authorization && challenge && { authorization, challenge }
  }

  /** Records the result of a validation; without an error the authorization is valid. */
  recordValidation(
    authorization: CaAuthorization,
    challenge: CaChallenge,
    error: CaChallenge['error'],
  ): void {
    challenge.error = error
    challenge.status = error ? 'invalid' : 'valid'
    authorization.status = challenge.status
    for (const order of this.orders.values()) this.settle(order)
  }

  /** RFC 8555, 7.1.6. */
  settle(order: CaOrder): void {
    if (order.status !== 'pending') return
    if (order.authorizations.every(({ status }) => status === 'valid')) order.status = 'ready'
    if (order.authorizations.some(({ status }) => status === 'invalid')) order.status = 'invalid'
  }

  #proven(account: string, name: string): CaAuthorization | undefined {
    return [...this.authorizations.values()].find(
      (one) => one.account === account && wholeName(one) === name && one.status === 'valid',
    )
  }

  #createAuthorization(account: string, name: string): CaAuthorization {
    const id = newId()
    const wildcard = name.startsWith('*.')
    const types: ChallengeType[] = wildcard ? ['dns-01'] : ['dns-01', 'tls-alpn-01', 'http-01']
    const authorization: CaAuthorization = {
      id,
      account,
      name: wildcard ? name.slice(2) : name,
      wildcard,
      status: 'pending',
      challenges: types.map((type, index) => ({
        id: `${id}-${index}`,
        type,
        token: newId(),
        status: 'pending',
        error: undefined,
      })),
    }
    this.authorizations.set(id, authorization)
    return authorization
  }
}

function wholeName({ name, wildcard }: CaAuthorization): string {
  return wildcard ? `*.${name}` : name
}

function newId(): string {
  return randomBytes(16).toString('hex')
}
