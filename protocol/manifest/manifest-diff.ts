import type { FileChanges } from '../api/fields.schema.ts'
import type { StoredFile } from './manifest.ts'

/** The differences between a version and an earlier one. */
export interface ManifestDiff {
  added: string[]
  /** Different bytes under the same path. */
  changed: string[]
  removed: string[]
}

/** In the order of the manifests. A file without a hash, which only a pending version has, counts as changed. */
export function diffManifests(earlier: readonly StoredFile[], later: readonly StoredFile[]): ManifestDiff {
  // Most files of an update have the place that they had before, which costs less to find than a path.
  const moved = earlier.filter(({ path }, index) => later[index]?.path !== path)
  const before = new Map(moved.map((file) => [file.path, file.hash]))
  const added: string[] = []
  const changed: string[] = []
  for (const [index, { path, hash }] of later.entries()) {
    const same = earlier[index]
    if (same?.path === path) {
      if (same.hash !== hash) changed.push(path)
      continue
    }
    if (!before.has(path)) added.push(path)
    else if (before.get(path) !== hash) changed.push(path)
    before.delete(path)
  }
  return { added, changed, removed: [...before.keys()] }
}

/** The number of differences of each kind. */
export function countChanges({ added, changed, removed }: ManifestDiff): FileChanges {
  return { added: added.length, changed: changed.length, removed: removed.length }
}
