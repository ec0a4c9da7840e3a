import { isIPv4, isIPv6 } from 'node:net'

/** An IP address as a number. An IPv4 address within IPv6 (RFC 4291, 2.5.5.2) is one of IPv4. */
interface Address {
  bits: 32 | 128
  value: bigint
}

export interface Network extends Address {
  prefix: number
}

/** Shortest prefixes, so that a typo does not stand for a large part of the Internet. */
const MIN_PREFIX = { 32: 8, 128: 32 } as const

/** Reads `192.0.2.0/24`, `2001:db8::/32` or one address; undefined when it is neither, or larger than /8 or /32. */
export function parseNetwork(text: string): Network | undefined {
  const [host = '', length, ...others] = text.split('/')
  const address = parseAddress(host)
  if (!address || others.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return undefined
  const { bits, value } = address
  const prefix = length === undefined ? bits : Number(length)
  if (prefix > bits || prefix < MIN_PREFIX[bits]) return undefined
  const hostBits = BigInt(bits - prefix)
  return { bits, prefix, value: (value >> hostBits) << hostBits }
}

/** Each network has one text. */
export function formatNetwork({ bits, value, prefix }: Network): string {
  return `${bits === 32 ? formatIPv4(value) : formatIPv6(value)}/${prefix}`
}

/** A set of networks, each until a time: a lookup takes one step for each length of prefix in it. */
export class NetworkSet {
  readonly #byLength = new Map<string, { shift: bigint; bits: number; ends: Map<bigint, number> }>()

  constructor(networks: Iterable<Network> = []) {
    for (const network of networks) this.set(network, Number.POSITIVE_INFINITY)
  }

  /** Adds a network, or replaces its end; removes it without one. */
  set({ bits, prefix, value }: Network, end: number | undefined): void {
    const key = `${bits}/${prefix}`
    const known = this.#byLength.get(key) ?? { shift: BigInt(bits - prefix), bits, ends: new Map() }
    if (end === undefined) known.ends.delete(value >> known.shift)
    else known.ends.set(value >> known.shift, end)
    if (known.ends.size > 0) this.#byLength.set(key, known)
    else this.#byLength.delete(key)
  }

  /** Whether the address is in a network that has not ended at `now`. */
  has(text: string, now = 0): boolean {
    const address = this.#byLength.size === 0 ? undefined : parseAddress(text)
    if (!address) return false
    for (const { shift, bits, ends } of this.#byLength.values())
      if (bits === address.bits && now < (ends.get(address.value >> shift) ?? 0)) return true
    return false
  }
}

export function overlaps(one: Network, other: Network): boolean {
  if (one.bits !== other.bits) return false
  const shift = BigInt(one.bits - Math.min(one.prefix, other.prefix))
  return one.value >> shift === other.value >> shift
}

export function ipv6Groups(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const start = toGroups(head)
  const end = toGroups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - start.length - end.length
  return [...start, ...Array<number>(zeros).fill(0), ...end]
}

function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { bits: 32, value: BigInt(`0x${toHex(text.split('.').map(Number), 2)}`) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const groups = ipv6Groups(text)
  const value = BigInt(`0x${toHex(groups, 4)}`)
  return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value }
}

/** A dotted end (RFC 4291, 2.2) is two groups. */
function toGroups(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return Number.parseInt(group, 16)
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function toHex(numbers: readonly number[], digits: number): string {
  return numbers.map((number) => number.toString(16).padStart(digits, '0')).join('')
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
}

/** RFC 5952: the serializer of URLs follows it. */
function formatIPv6(value: bigint): string {
  const groups = value.toString(16).padStart(32, '0').match(/.{4}/g)!
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
