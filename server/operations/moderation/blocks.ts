import {
  formatNetwork,
  type Network,
  NetworkSet,
  overlaps,
  parseNetwork,
} from '../../../packages/http-server/clients/network.ts'
import type { BlockRecord, BlockRequest, BlockTarget } from '../../../protocol/api/admin/moderation.schema.ts'
import { EMPTY_HASH } from '../../../protocol/manifest/empty-files.ts'
import { listBlocks } from '../../accounts/blocklist.ts'
import { Component } from '../../lib/component.ts'
import { ApiError, invalidField } from '../../lib/errors.ts'
import { listPages } from '../../lib/list-pages.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import { deleteInSteps, INDEPENDENT, type Store } from '../../store/store.ts'
import type { AuditActor } from '../../store/tables/administration.ts'
import { BLOCK_CHANGED, type Block } from '../../store/tables/moderation.ts'

/** Every process has those of networks in memory. */
const MAX_BLOCKS = 10_000

/** One write invalidates the caches of this many sites that have a blocked file. */
const SITES_PER_WRITE = 500

const EXPIRED_PER_QUERY = 100

/** Of this machine, of local networks, and usually of proxies in front of the service. */
const LOCAL_NETWORKS = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10'],
  ...['::1/128', 'fc00::/32', 'fd00::/32', 'fe80::/32'],
].map((text) => parseNetwork(text)!)

export class Blocks extends Component<Pick<Parts, 'store' | 'clock'>> {
  /** Newest first. */
  async list(): Promise<BlockRecord[]> {
    const pages = listBlocks(this.parts.store.read.blocks)
    const records = (await Array.fromAsync(pages, (page) => page.map(toRecord))).flat()
    return records.sort(({ createdAt: one }, { createdAt: two }) => Number(one < two) - Number(one > two))
  }

  /**
   * Every site that has a blocked content stops serving it. A repeated block has the new reason and end.
   * VALIDATION_ERROR, also beyond the number of blocks. `ownAddress` is that of the operator, where it is known.
   */
  async add(actor: AuditActor, request: BlockRequest, ownAddress?: string): Promise<BlockRecord> {
    const { kind, reason, seconds } = request
    const value = kind === 'hash' ? readContentHash(request.value) : readNetwork(request, ownAddress)
    const now = this.parts.clock()
    const expiresAt = seconds === undefined ? null : now + seconds * 1000
    const block: Block = { kind, value, reason, createdAt: now, expiresAt }
    await this.parts.store.write('durable', { counter: `blocks of ${kind}` }, async (tx) => {
      if ((await tx.blocks.countOthers(kind, value)) >= MAX_BLOCKS)
        throw invalidField('value', `is one too many: there can be ${MAX_BLOCKS} blocks of a kind`)
      await tx.rows.put('blocks', block)
      await tx.notifyChanged(BLOCK_CHANGED + value)
      const details = { reason, ...(seconds !== undefined && { seconds }) }
      await tx.audit.add({ at: now, actor, action: `${kind}.block`, target: value, details })
    })
    await this.#invalidateSitesWith(block)
    return toRecord(block)
  }

  /** NOT_FOUND when it is not blocked. */
  async remove(actor: AuditActor, target: BlockTarget): Promise<BlockTarget> {
    const { kind } = target
    const value = kind === 'hash' ? readHash(target.value) : readNetwork({ ...target, force: true })
    const scope = { counter: `blocks of ${kind}` }
    const isRemoved = await this.parts.store.write('durable', scope, async (tx) => {
      if (!(await tx.blocks.remove(kind, value))) return false
      await tx.notifyChanged(BLOCK_CHANGED + value)
      await tx.audit.add({ at: this.parts.clock(), actor, action: `${kind}.unblock`, target: value })
      return true
    })
    await this.#invalidateSitesWith({ kind, value })
    if (!isRemoved) throw new ApiError('NOT_FOUND', `${value} is not blocked`)
    return target
  }

  /** For a job with its store; returns how many had ended, which had no effect any more. A renewed one stays. */
  removeExpired(store: Store): Promise<number> {
    return deleteInSteps(store, async (tx) => {
      const now = this.parts.clock()
      const expired = await tx.blocks.expired(now, EXPIRED_PER_QUERY)
      for (const { kind, value } of expired)
        if (await tx.blocks.remove(kind, value, now)) await tx.notifyChanged(BLOCK_CHANGED + value)
      return expired.length
    })
  }

  /** After the write. A repeated action completes it. */
  async #invalidateSitesWith({ kind, value }: Pick<Block, 'kind' | 'value'>): Promise<void> {
    if (kind === 'hash') await invalidateSitesWith(this.parts.store, value)
  }
}

/** A popular file may be in any number of sites. */
export async function invalidateSitesWith(store: Store, hash: string): Promise<void> {
  const find = (after: string) => store.read.blobs.referencingSites([hash], after, SITES_PER_WRITE)
  for await (const keys of listPages('', find))
    await store.write('durable', INDEPENDENT, async (tx) => {
      for (const slug of (await tx.sites.currentSlugs(keys)).values()) await tx.notifyChanged(slug)
    })
}

function toRecord({ createdAt, expiresAt, ...block }: Block): BlockRecord {
  return { ...block, createdAt: toIso(createdAt), expiresAt: toIsoOrNull(expiresAt) }
}

/** VALIDATION_ERROR for the hash of every empty file, of which no site has more than another. */
function readContentHash(typed: string): string {
  const hash = readHash(typed)
  if (hash !== EMPTY_HASH) return hash
  throw invalidField('value', 'is the SHA-256 of every empty file')
}

function readHash(typed: string): string {
  const hash = typed.trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return hash
  throw invalidField('value', 'must be a SHA-256 of 64 hexadecimal characters')
}

/** VALIDATION_ERROR unless it is a network that an operator can mean to block. */
function readNetwork({ value, force }: Pick<BlockRequest, 'value' | 'force'>, ownAddress?: string): string {
  const network = parseNetwork(value.trim())
  if (!network)
    throw invalidField('value', 'must be an address or a network: IPv4 from /8 to /32, IPv6 from /32 to /128')
  const problem = force ? undefined : findProblem(network, ownAddress)
  if (problem) throw invalidField('value', `${problem}. To block it, set force (--force)`)
  return formatNetwork(network)
}

function findProblem(network: Network, ownAddress: string | undefined): string | undefined {
  if (ownAddress !== undefined && new NetworkSet([network]).has(ownAddress))
    return 'contains the address of this request'
  return LOCAL_NETWORKS.some((local) => overlaps(network, local))
    ? 'contains addresses of this machine or of a local network, such as those of proxies'
    : undefined
}
