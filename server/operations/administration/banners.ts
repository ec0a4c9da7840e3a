import type { BannerRequest, ScheduledBanner } from '../../../protocol/api/admin/banner.schema.ts'
import { BANNER_LEVELS, type Banner, MAX_BANNER_LENGTH } from '../../../protocol/api/banner.ts'
import type { FieldError } from '../../../protocol/api/errors.schema.ts'
import { Component } from '../../lib/component.ts'
import { validationError } from '../../lib/errors.ts'
import { shareRunning } from '../../lib/share-result.ts'
import { toIso } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import { INDEPENDENT } from '../../store/store.ts'
import { type AuditActor, OPERATOR_SETTINGS_CHANGED } from '../../store/tables/administration.ts'

const MAX_LINK_LENGTH = 500

/** Control characters, and those that reorder the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

/** RFC 3339; time of day and zone may be absent, for UTC. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/

/** In memory, read at the start and after each change, so that no page and no request waits for the store. */
export class Banners extends Component<Pick<Parts, 'store' | 'clock'>> {
  #known: ScheduledBanner | undefined
  #isOutdated = true
  readonly #read = shareRunning(() => this.#readAll())

  constructor(parts: Pick<Parts, 'store' | 'clock'>) {
    super(parts)
    parts.store.onChange((names) => {
      if (names === undefined || names.includes(OPERATOR_SETTINGS_CHANGED)) return this.refresh()
    })
  }

  /** As this process last read it. */
  current(): Banner | undefined {
    if (this.#isOutdated) void this.refresh()
    if (!this.#known) return undefined
    const { level, text, link, from, until } = this.#known
    const now = this.parts.clock()
    const isShown = (from === null || Date.parse(from) <= now) && (until === null || now < Date.parse(until))
    return isShown ? { level, text, link } : undefined
  }

  /** When the store does not respond, the last banner stays, and `current` repeats the read. */
  refresh(): Promise<void> {
    this.#isOutdated = true
    return this.#read()
  }

  /** Also before and after the time when the banner is shown. */
  async find(): Promise<ScheduledBanner | null> {
    return (
      ((await this.parts.store.read.operatorSettings.find('banner')) as ScheduledBanner | undefined) ?? null
    )
  }

  async set(actor: AuditActor, request: BannerRequest): Promise<ScheduledBanner> {
    const now = this.parts.clock()
    const banner = readBanner(request, now)
    await this.parts.store.write('durable', INDEPENDENT, async (tx) => {
      await tx.operatorSettings.put('banner', banner)
      await tx.notifyChanged(OPERATOR_SETTINGS_CHANGED)
      await tx.audit.add({ at: now, actor, action: 'banner.set', target: 'banner', details: { ...banner } })
    })
    return banner
  }

  async clear(actor: AuditActor): Promise<void> {
    await this.parts.store.write('durable', INDEPENDENT, async (tx) => {
      if (!(await tx.rows.remove('operator_settings', { name: 'banner' }))) return
      await tx.notifyChanged(OPERATOR_SETTINGS_CHANGED)
      await tx.audit.add({ at: this.parts.clock(), actor, action: 'banner.clear', target: 'banner' })
    })
  }

  /** Again after a change while it reads. */
  async #readAll(): Promise<void> {
    while (this.#isOutdated) {
      this.#isOutdated = false
      try {
        this.#known = (await this.find()) ?? undefined
      } catch {
        this.#isOutdated = true
        return
      }
    }
  }
}

/** VALIDATION_ERROR for what cannot be shown. */
function readBanner(request: BannerRequest, now: number): ScheduledBanner {
  const problems: FieldError[] = []
  const text = request.text.trim()
  const length = [...text].length
  if (length === 0 || length > MAX_BANNER_LENGTH)
    problems.push({ field: 'text', message: `must have 1 to ${MAX_BANNER_LENGTH} characters` })
  else if (UNPRINTABLE.test(text))
    problems.push({ field: 'text', message: 'must be a line of printable text' })
  const { level = 'info' } = request
  if (!BANNER_LEVELS.includes(level))
    problems.push({ field: 'level', message: `must be one of ${BANNER_LEVELS.join(', ')}` })
  const link = request.link || null
  if (link !== null && !isWebUrl(link))
    problems.push({ field: 'link', message: 'must be a URL that begins with https:// or http://' })
  const from = readTime('from', request.from, problems)
  const until = readTime('until', request.until, problems)
  if (until !== null && until <= Math.max(from ?? 0, now))
    problems.push({ field: 'until', message: 'must be in the future, and after from' })
  if (problems.length > 0) throw validationError(problems)
  return { level, text, link, from: from && toIso(from), until: until && toIso(until) } as ScheduledBanner
}

function readTime(field: string, given: string | null | undefined, problems: FieldError[]): number | null {
  if (!given) return null
  const zone = given.includes('T') && !/(Z|[+-]\d\d:\d\d)$/.test(given) ? 'Z' : ''
  const time = TIME.test(given) ? Date.parse(given + zone) : Number.NaN
  if (Number.isNaN(time)) problems.push({ field, message: 'must be a time such as 2026-01-31T18:00Z' })
  return time
}

function isWebUrl(text: string): boolean {
  return text.length <= MAX_LINK_LENGTH && URL.canParse(text) && /^https?:\/\/[^\s@]+$/i.test(text)
}
