import { accountExceptions } from '../account.schema.ts'
import {
  bool,
  integer,
  list,
  map,
  named,
  nullable,
  number,
  object,
  type Static,
  text,
  time,
} from '../schema.ts'
import { LIST_ORDERS } from './lists.ts'
import { adminSuspension, siteOwner } from './moderation.schema.ts'
import { page, pageQuery } from './page.schema.ts'

const search = {
  q: text(
    'The beginning of a slug, a title, a domain or an email address, in any case. Finds the first matches, in one page',
    { maxLength: 254 },
  ),
}
/** Query of the lists of sites, accounts and domains. */
export const listQuery = object(
  {},
  {
    ...pageQuery,
    ...search,
    sort: text('The newest (`age`), largest or most visited first; default age', { enum: LIST_ORDERS }),
  },
)

export const certificateQuery = object({}, { ...pageQuery, ...search })

const counted = {
  bytes: integer('Bytes of the live versions, as counted in the last minutes'),
  visits: integer('Requests of the last 30 days, as counted in the last minutes'),
}
const slug = text('Slug')
const createdAt = time('Creation')
const problem = nullable(text('What is wrong; null if nothing is'))
const failures = integer('Failures in a row')

const site = named('AdminSite', {
  slug,
  siteUrl: text('URL'),
  title: nullable(text('Title')),
  owner: siteOwner,
  status: text('`pending` before the first finalize', { enum: ['active', 'pending', 'expired'] }),
  hasPassword: bool('Whether visitors need a password'),
  createdAt,
  updatedAt: time('Last change'),
  expiresAt: nullable(time('When it expires; null if it does not')),
  suspension: adminSuspension,
  isOwnerSuspended: bool('Whether the account it belongs to is suspended'),
  ...counted,
})
export type AdminSite = Static<typeof site>

export const sitePage = page('AdminSites', site, 'In the order of `sort`')
export type AdminSites = Static<typeof sitePage>

const account = named('AdminAccount', {
  id: text('Identifier'),
  email: text('Email address'),
  plan: text('Plan'),
  limits: accountExceptions,
  suspension: adminSuspension,
  administrator: bool('Whether it administers the service'),
  isBeingDeleted: bool('Whether its data are being deleted'),
  createdAt,
  sites: integer('Sites'),
  ...counted,
})
export type AdminAccount = Static<typeof account>

export const accountPage = page('AdminAccounts', account, 'In the order of `sort`')
export type AdminAccounts = Static<typeof accountPage>

const domain = named('AdminDomain', {
  domain: text('The host name'),
  slug,
  owner: siteOwner,
  status: text('`pending` until its DNS records are found', { enum: ['active', 'pending'] }),
  problem,
  createdAt,
  checkedAt: nullable(time('Last check')),
  ...counted,
})
export type AdminDomain = Static<typeof domain>

export const domainPage = page('AdminDomains', domain, 'In the order of `sort`')
export type AdminDomains = Static<typeof domainPage>

const certificate = named('AdminCertificate', {
  name: text('A domain, the host of the service, or a wildcard'),
  issuedAt: nullable(time('When it was issued')),
  expiresAt: nullable(time('When it expires; null before the first one was issued')),
  renewsAt: nullable(time('When it is renewed')),
  nextStepAt: nullable(time('The next step of its order or renewal')),
  failures,
  problem,
})
export type AdminCertificate = Static<typeof certificate>

export const certificatePage = page(
  'AdminCertificates',
  certificate,
  'Those without a certificate, then the first to expire; with `q`, by name',
)
export type AdminCertificates = Static<typeof certificatePage>

const lastRun = object({
  startedAt: time('Start'),
  durationMs: integer('Duration in milliseconds'),
  items: integer('What it affected'),
  error: nullable(text('Why it failed; null after a success')),
})
/** A recurring background task. */
const sweep = object({
  name: text('Name'),
  description: text('What it does'),
  intervalSeconds: integer('Interval'),
  lastRun: nullable(lastRun, 'The last run; null before the first one'),
  failures,
  failedAt: nullable(time('Last failure; null before the first one')),
})
export type AdminSweep = Static<typeof sweep>

export const sweepList = named('AdminSweeps', {
  sweeps: list(sweep, 'In the order in which `slipway-server sweep all` runs them'),
})

export type AdminSweeps = Static<typeof sweepList>

/** A process that serves, in a fleet. */
const node = object({
  id: text('Identifier'),
  host: text('Name of the machine, and port'),
  release: text('Version of the program'),
  startedAt: time('Start'),
  seenAt: time('Last report'),
  isSilent: bool('Whether reports are overdue'),
  lagSeconds: nullable(number('Age of its view of changes of other nodes; null when it is not known')),
  numbers: map(number('A number'), 'Reported metrics by name'),
})
export type AdminNode = Static<typeof node>

export const nodeList = named('AdminNodes', {
  nodes: list(node, 'The processes that use a shared database, the first started first; empty with SQLite'),
})
export type AdminNodes = Static<typeof nodeList>
