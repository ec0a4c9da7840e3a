import { existsSync } from 'node:fs'
import { parse, resolve } from 'node:path'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import type { Viewer } from '../wire.ts'
import { harmless } from '../words.ts'
import { keyOf, loginCommand } from './account.ts'
import { type Command, SERVER_OPTION, text, type Values, type Workplace } from './command.ts'
import { deliver, type Order, type Outcome } from './destination.ts'
import type { HashedFile } from './folder/digest.ts'
import { amount, exceptions, lookThrough, readFiles, remarks } from './folder/read-site.ts'
import type { Scan } from './folder/scan.ts'
import { report, watching } from './report.ts'
import { chooseServer, namedServer } from './server.ts'
import { Trouble, UsageTrouble } from './trouble.ts'

/** `slipway publish [folder]` */
export const publish: Command = {
  name: 'publish',
  operands: '[folder]',
  most: 1,
  summary: 'Publish a folder (or one file) and print its address',
  about: `
Publishes a folder, by default this one, and prints the address alone on stdout. Publishing it again updates the
same site and uploads only what changed; an interrupted publish goes on where it was. What was published from here is
remembered in .slipway/, readable by you only.

No account is needed: such a site lasts a day, and the claim link that is shown keeps it.

Left out, unless .slipwayignore brings them back with !name: names that begin with a dot (but .well-known is
published), node_modules, __MACOSX, Thumbs.db, desktop.ini, editors' leftovers (*~ *.swp *.swo #*#), and private keys
(id_rsa, id_dsa, id_ecdsa, id_ed25519, *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx).
Always left out: .git .hg .svn .slipway .slipwayignore, and empty files.
.slipwayignore, at the top of the folder, has the syntax of .gitignore.`,
  options: {
    site: { type: 'string', value: 'SLUG', help: 'Update this site of your account' },
    new: { type: 'boolean', help: 'Make a new site, whatever is remembered' },
    draft: { type: 'boolean', help: 'Do not go live: give the version an address of its own' },
    title: { type: 'string', value: 'TEXT', help: "Title in tabs and previews; '' takes it away" },
    description: { type: 'string', value: 'TEXT', help: "Description in previews; '' takes it away" },
    spa: {
      type: 'boolean',
      help: 'Pages that are not there get index.html, for an application that routes them',
    },
    'no-spa': { type: 'boolean', help: 'Pages that are not there get a 404 again' },
    ttl: { type: 'string', value: 'SECONDS', help: 'Expire after so long; 0 for never (needs an account)' },
    password: {
      type: 'boolean',
      help: 'Ask for a password (or take SLIPWAY_SITE_PASSWORD; needs an account)',
    },
    'no-password': { type: 'boolean', help: 'Take the password away' },
    'dry-run': { type: 'boolean', help: 'Only list what would be published' },
    json: { type: 'boolean', help: 'Print JSON in place of the address' },
    server: SERVER_OPTION,
  },
  async run(work, options, [operand = '.']) {
    const folder = resolve(work.cwd, operand)
    refuseWrongFolder(work, folder, operand)
    const found = lookThrough(folder)
    if (options['dry-run'] === true) return list(work, found)
    const order = orderFor(work, options, folder)
    const password = await passwordFor(work, options, order)
    for (const line of remarks(found, folder)) work.terminal.say(line)
    const began = work.patience.now()
    const { outcome, files } = await publishUnchanging(work, { ...order, password }, found)
    if (password === null) await takePasswordAway(work, order, outcome)
    report(work, { ...outcome, files, live: order.live, signedIn: order.key !== undefined, began }, options)
    if (password !== undefined)
      work.terminal.say(password === null ? 'Visitors need no password.' : 'Visitors need the password.')
  },
}

function refuseWrongFolder({ settings }: Workplace, folder: string, operand: string): void {
  if (!existsSync(folder)) {
    throw new Trouble(
      `There is no ${harmless(operand)} here`,
      `Name a folder that is there, or a dot for this one: ${settings.program} publish .`,
    )
  }
  if (folder === resolve(settings.home) || folder === parse(folder).root) {
    throw new Trouble(
      `${folder} holds more than a site`,
      `Name the folder to publish: ${settings.program} publish ./folder`,
    )
  }
}

function list({ terminal }: Workplace, found: Scan): void {
  for (const file of found.files) terminal.print(file.path)
  for (const line of exceptions(found, true)) terminal.say(line)
  terminal.say(`${amount(found.files)} would be published.`)
}

function orderFor(work: Workplace, options: Values, folder: string): Order {
  const named = namedServer(text(options, 'server'), work.settings)
  const slug = text(options, 'site')
  const isNew = options.new === true
  if (isNew && slug !== undefined) throw new UsageTrouble('--new and --site exclude each other')
  const known = slug === undefined ? work.sites.find(folder, named) : bySlug(work, slug, named)
  const server = chooseServer(named, known?.server, work.keyring)
  if (isNew && known?.claimUrl) {
    work.terminal.say(`Not forgotten: ${known.siteUrl} has no owner; to keep it: ${known.claimUrl}`)
  }
  return {
    folder,
    server,
    key: keyOf(work, options, server),
    slug,
    remembered: isNew ? undefined : known,
    viewer: viewerOf(options),
    live: options.draft !== true,
  }
}

function bySlug({ sites }: Workplace, slug: string, server: string | undefined) {
  return sites.all(server).find((site) => site.slug === slug)
}

function viewerOf(options: Values): Viewer {
  const title = text(options, 'title')
  const description = text(options, 'description')
  const ttl = text(options, 'ttl')
  if (options.spa === true && options['no-spa'] === true) {
    throw new UsageTrouble('--spa and --no-spa exclude each other')
  }
  return {
    ...(title !== undefined && { title: title || null }),
    ...(description !== undefined && { description: description || null }),
    ...(options.spa === true && { spaMode: true }),
    ...(options['no-spa'] === true && { spaMode: false }),
    ...(ttl !== undefined && { ttlSeconds: seconds(ttl) }),
  }
}

function seconds(ttl: string): number | null {
  if (!/^\d{1,10}$/.test(ttl)) {
    throw new UsageTrouble(`--ttl ${harmless(ttl)} is not a number of seconds`, 'A week: --ttl 604800')
  }
  return Number(ttl) || null
}

/** The password to set, `null` to take it away, undefined to leave it as it is. */
async function passwordFor(
  work: Workplace,
  options: Values,
  order: Order,
): Promise<string | null | undefined> {
  if (options.password !== true && options['no-password'] !== true) return undefined
  if (order.key === undefined || order.remembered?.claimToken !== undefined) {
    const hint = order.key === undefined ? loginCommand(work, order.server) : `${work.settings.program} claim`
    throw new Trouble('Only a site with an owner can have a password', `First: ${hint}`)
  }
  if (options['no-password'] === true) return null
  const { terminal, settings } = work
  if (settings.sitePassword !== undefined) return settings.sitePassword
  if (!terminal.interactive) throw new UsageTrouble('Nobody is here to ask', 'Set SLIPWAY_SITE_PASSWORD')
  const password = await terminal.askSecret('Password for visitors:')
  if (password === '') throw new Trouble('A password cannot be empty', 'To take it away: --no-password')
  return password
}

async function takePasswordAway(work: Workplace, { server, key }: Order, { site }: Outcome): Promise<void> {
  try {
    await work.connect(server, key).setMetadata(site.slug, { password: null })
  } catch (error) {
    work.terminal.say(`${harmless(site.siteUrl)} is published, but its password is as it was before.`)
    throw error
  }
}

/** With the password to set, if there is one. */
type GuardedOrder = Order & { password: string | null | undefined }

const CHANGED = ['FILE_CHANGED', 'SIZE_MISMATCH', 'HASH_MISMATCH'] as const

/** Publishes; when files change under its hands it reads them once more. */
async function publishUnchanging(
  work: Workplace,
  order: GuardedOrder,
  found: Scan,
): Promise<{ outcome: Outcome; files: HashedFile[] }> {
  try {
    return await publishOnce(work, order, found)
  } catch (error) {
    if (!isSlipwayError(error, ...CHANGED)) throw stopped(work, error)
    work.terminal.say(`${harmless(error.message)}. Reading the files again.`)
  }
  const remembered = work.sites.find(order.folder, order.server)
  try {
    return await publishOnce(work, { ...order, remembered }, lookThrough(order.folder))
  } catch (error) {
    if (!isSlipwayError(error, ...CHANGED)) throw stopped(work, error)
    throw new Trouble(
      harmless(error.message),
      'It keeps changing. Publish again when nothing writes to it any more.',
    )
  }
}

async function publishOnce(work: Workplace, order: GuardedOrder, found: Scan) {
  const files = await readFiles(work, found.files)
  const { password } = order
  const watch = watching(work, order, files)
  const outcome = await deliver(work, order, files, {
    ...watch,
    async onStaged(staged, resumed) {
      await watch.onStaged(staged, resumed)
      // Before the version is live, so that nobody sees it without the password.
      if (password) await work.connect(order.server, order.key).setMetadata(staged.slug, { password })
    },
  })
  return { outcome, files }
}

function stopped({ signal }: Workplace, error: unknown): unknown {
  return signal.aborted
    ? new Trouble('Stopped', 'Run the same command again: it goes on where it was.')
    : error
}
