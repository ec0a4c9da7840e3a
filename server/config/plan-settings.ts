import { readFileSync, statSync } from 'node:fs'
import type { Limits } from '../../protocol/api/account.schema.ts'
import { MAX_FILES } from '../../protocol/api/publish.ts'
import type { PlanTable } from '../accounts/plans.ts'
import { parseJsonObject } from '../lib/json-object.ts'
import { countLimit, integer, planName, readValue, type SettingType, sizeLimit } from './setting-types.ts'

const MAX_PLANS = 100
const MAX_TABLE_BYTES = 2 ** 20

export type GivenPlan = Partial<Limits> & { name?: string }

/** Of `free` most are settings of their own; each is read alike in the table of plans and in commands. */
export const LIMIT_SETTINGS: Readonly<Record<keyof Limits, SettingType<number>>> = {
  requestsPerHour: countLimit(60, [1, 1e9], 'API requests per hour for an account on the first plan.'),
  sites: countLimit(10_000, [0, 1e9], 'Sites, with those in the trash.'),
  bytes: sizeLimit(100 * 2 ** 30, [0, 2 ** 50], 'Size of all versions of all sites, each content once.'),
  domains: countLimit(1, [0, 1e6], 'Custom domains of an account on the first plan.'),
  filesPerSite: integer(1000, [1, MAX_FILES], 'Maximum number of files of a site.'),
  fileBytes: sizeLimit(5 * 2 ** 30, [1, 2 ** 40], 'Maximum size of a file of a site.'),
  siteBytes: sizeLimit(10 * 2 ** 30, [1, 2 ** 44], 'Maximum total size of a site.'),
  versionsKept: integer(10, [1, 1000], 'Number of live versions to keep for each site.'),
  draftsKept: integer(10, [1, 1000], 'Number of drafts to keep for each site.'),
  previews: integer(50, [1, 1000], 'Maximum number of previews of a site.'),
}

/** Limits without a setting of their own, of the plans that always exist. */
const BUILT_IN: Record<'free' | 'hobby', Pick<Limits, 'sites' | 'bytes'>> = {
  free: { sites: LIMIT_SETTINGS.sites.defaultValue, bytes: LIMIT_SETTINGS.bytes.defaultValue },
  hobby: { sites: 100_000, bytes: 2 ** 40 },
}

/** Settings of the values of single plans, by which these and the table can contradict each other. */
const PLAN_SETTINGS = {
  free: {
    name: ['SLIPWAY_PLAN_FREE', 'planFree'],
    requestsPerHour: ['SLIPWAY_RATE_FREE', 'rateFree'],
    domains: ['SLIPWAY_DOMAINS_FREE', 'domainsFree'],
  },
  hobby: {
    name: ['SLIPWAY_PLAN_HOBBY', 'planHobby'],
    requestsPerHour: ['SLIPWAY_RATE_HOBBY', 'rateHobby'],
    domains: ['SLIPWAY_DOMAINS_HOBBY', 'domainsHobby'],
  },
} as const

export interface PlanValues {
  planTable: Readonly<Record<string, GivenPlan>>
  planFree: string
  planHobby: string
  rateFree: number
  rateHobby: number
  domainsFree: number
  domainsHobby: number
  ownedFiles: number
  ownedFileBytes: number
  ownedSiteBytes: number
  versionsKept: number
  draftsKept: number
  previews: number
}

/** The table of plans: JSON, or the path of a file with it. Limits that a plan leaves out are those of `free`. */
export function planTable(description: string): SettingType<Readonly<Record<string, GivenPlan>>> {
  const read = (given: string) => {
    const table = parseTable(given)
    const entries = Object.entries(table)
    if (entries.length > MAX_PLANS) throw new Error(`it must have at most ${MAX_PLANS} plans`)
    return Object.fromEntries(entries.map(([id, plan]) => [id, readPlan(id, plan)]))
  }
  return { defaultValue: {}, defaultLabel: '{}', description, read }
}

/** All plans with all of their limits. `free` comes first, then `hobby`. */
export function resolvePlans(values: PlanValues): PlanTable {
  const { planTable: given } = values
  const common = {
    filesPerSite: values.ownedFiles,
    fileBytes: values.ownedFileBytes,
    siteBytes: values.ownedSiteBytes,
    versionsKept: values.versionsKept,
    draftsKept: values.draftsKept,
    previews: values.previews,
  }
  const single = (id: 'free' | 'hobby') => {
    const { name, requestsPerHour, domains } = PLAN_SETTINGS[id]
    return { name: values[name[1]], requestsPerHour: values[requestsPerHour[1]], domains: values[domains[1]] }
  }
  const free = { ...common, ...BUILT_IN.free, ...single('free'), ...given.free }
  const hobby = { ...common, ...BUILT_IN.hobby, ...single('hobby'), ...given.hobby }
  const others = Object.entries(given).filter(([id]) => id !== 'free' && id !== 'hobby')
  return {
    free,
    hobby,
    ...Object.fromEntries(others.map(([id, plan]) => [id, { ...free, name: id, ...plan }])),
  }
}

/** Sentences about values that contradict each other, and about plans that messages could not tell apart. */
export function findPlanProblems(
  values: PlanValues,
  environment: Record<string, string | undefined>,
): string[] {
  return [...findContradictions(values, environment), ...findEqualNames(values)]
}

function findContradictions(values: PlanValues, environment: Record<string, string | undefined>): string[] {
  return (['free', 'hobby'] as const).flatMap((id) =>
    (['name', 'requestsPerHour', 'domains'] as const).flatMap((field) => {
      const [name, key] = PLAN_SETTINGS[id][field]
      const given = values.planTable[id]?.[field]
      if (!environment[name] || given === undefined || given === values[key]) return []
      return [`${name} and ${field} of the plan ${id} in SLIPWAY_PLANS differ: leave one of them out`]
    }),
  )
}

/** Messages and the dashboard show only the names. */
function findEqualNames(values: PlanValues): string[] {
  const { planTable: given, planFree, planHobby } = values
  if (Object.keys(given).length === 0) {
    if (planFree.toLowerCase() !== planHobby.toLowerCase()) return []
    return [
      `SLIPWAY_PLAN_HOBBY=${JSON.stringify(planHobby)} is not allowed: SLIPWAY_PLAN_FREE is the same name`,
    ]
  }
  const ids = new Map<string, string>()
  return Object.entries(resolvePlans(values)).flatMap(([id, { name }]) => {
    const other = ids.get(name.toLowerCase())
    ids.set(name.toLowerCase(), id)
    return other === undefined
      ? []
      : [`SLIPWAY_PLANS: the plans ${other} and ${id} have the same name: ${name}`]
  })
}

function parseTable(given: string): object {
  const text = given.trimStart().startsWith('{') ? given : readTable(given)
  const table = parseJsonObject(text)
  if (table) return table
  throw new Error('it must be a JSON object such as {"team":{"requestsPerHour":1000,"bytes":"500GB"}}')
}

function readTable(path: string): string {
  try {
    if (statSync(path).size <= MAX_TABLE_BYTES) return readFileSync(path, 'utf8')
  } catch {}
  throw new Error('it must be a JSON object, or the path of a file with one')
}

function readPlan(id: string, given: unknown): GivenPlan {
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(id))
    throw new Error(
      `the plan ${JSON.stringify(id)} must have a name of lowercase letters, digits and hyphens`,
    )
  if (typeof given !== 'object' || given === null) throw new Error(`the plan ${id} must be a JSON object`)
  return Object.fromEntries(
    Object.entries(given).map(([field, value]) => {
      const setting = field === 'name' ? planName('', '') : findLimit(field)
      if (setting === undefined)
        throw new Error(
          `the plan ${id} has the field ${field}; those of a plan are name, ${Object.keys(LIMIT_SETTINGS).join(', ')}`,
        )
      return [
        field,
        readValue<string | number>(`${id}.${field}`, setting as SettingType<string | number>, String(value)),
      ]
    }),
  )
}

function findLimit(field: string): SettingType<number> | undefined {
  return Object.hasOwn(LIMIT_SETTINGS, field) ? LIMIT_SETTINGS[field as keyof Limits] : undefined
}
