import { OUTPUTS, withoutIndex } from '../../client/folder/first-page.ts'
import { caseTwins, refusal, refusals } from '../../client/folder/limits.ts'
import type { PublishLimits } from '../../client/wire/page-settings.ts'
import { size } from '../../client/words.ts'
import type { Gathered, GatheredFile } from './gather.ts'

/** What there is to say about a drop before it is published. */
export interface Look extends Gathered {
  /** Why it cannot be published as it is. */
  refusals: string[]
  /** What may be a mistake, and can be published all the same. */
  cautions: string[]
  /** What is left when the files are taken away that cannot be published; undefined when that does not help. */
  rest?: GatheredFile[]
  /** The folder in it, with its `/`, that looks like what was meant. */
  inside?: string
}

/** Bytes of a file in a zip that this page unpacks: it takes as much memory. */
export const MOST_UNPACKED = 2 ** 28

/** Names said before it is enough. */
const MOST_NAMED = 10

/** Whether a person has to decide something first. */
export function hasQuestion({ refusals, cautions, files }: Look): boolean {
  return refusals.length > 0 || cautions.length > 0 || files.length === 0
}

export function look(gathered: Gathered, limits: PublishLimits): Look {
  const { files } = gathered
  const fine = files.filter((file) => !isUnfit(file, limits))
  const helps = fine.length > 0 && fine.length < files.length && refusals(fine, limits).length === 0
  const inside = insideOf(files)
  return {
    ...gathered,
    refusals: [...cannotComeOut(files), ...refusals(files, limits)],
    cautions: [...caseTwins(files), withoutIndex(files.map(({ path }) => path)) ?? []].flat(),
    ...(helps && { rest: fine }),
    ...(inside !== undefined && { inside }),
  }
}

/** The part of it that is in one folder, as if that had been dropped. */
export function lookInside(found: Look, folder: string, limits: PublishLimits): Look {
  const within = (path: string) => path.startsWith(folder)
  const cut = (path: string) => path.slice(folder.length)
  const { leftOut, empty, zip } = found
  const files = found.files.filter(({ path }) => within(path))
  return look(
    {
      files: files.map((file) => ({ ...file, path: cut(file.path), local: cut(file.local) })),
      leftOut: leftOut.filter(within).map(cut),
      empty: empty.filter(within).map(cut),
      ...(zip !== undefined && { zip }),
    },
    limits,
  )
}

function isUnfit(file: GatheredFile, limits: PublishLimits): boolean {
  return problemOf(file) !== undefined || refusal(file, limits) !== undefined
}

function cannotComeOut(files: readonly GatheredFile[]): string[] {
  const sentences = files.flatMap((file) => problemOf(file) ?? [])
  const rest = sentences.length - MOST_NAMED
  return rest > 0 ? [...sentences.slice(0, MOST_NAMED), `and ${rest} more like these`] : sentences
}

/** What stands in the way of taking a file out of its zip. */
function problemOf({ path, size: bytes, source, problem }: GatheredFile): string | undefined {
  if (problem !== undefined) return `${path} ${problem}`
  if (typeof source !== 'number' || bytes <= MOST_UNPACKED) return undefined
  return `${path}: ${size(bytes)}, too much to unpack here; unpack the zip and drop the folder`
}

function insideOf(files: readonly GatheredFile[]): string | undefined {
  const paths = new Set(files.map(({ path }) => path))
  if (paths.has('index.html')) return undefined
  const name = OUTPUTS.find((output) => paths.has(`${output}/index.html`))
  return name && `${name}/`
}
