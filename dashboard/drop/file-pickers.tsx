import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Selection } from './selection.ts'

/** Phones have no folder picker and do not know the attribute. */
export const HAS_FOLDERS =
  'webkitdirectory' in HTMLInputElement.prototype && !matchMedia('(pointer: coarse)').matches

/** An attribute that is missing in the types. */
const FOLDERS: object = { webkitdirectory: true }

interface FilePickers {
  /** Undefined where there is no folder picker. */
  chooseFolder: (() => void) | undefined
  chooseFiles: () => void
  /** The hidden inputs, which the caller renders. */
  inputs: ComponentChildren
}

/** The pickers of the browser for files and folders; `labels` name their inputs. */
export function useFilePickers(
  labels: { folder: string; files: string },
  onPicked: (picked: Selection) => void,
): FilePickers {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const picked = [...(currentTarget.files ?? [])]
    currentTarget.value = ''
    // An empty folder was picked.
    if (picked.length > 0 || currentTarget === folder.current) onPicked({ entries: [], files: picked })
  }
  const common = { type: 'file', hidden: true, onChange: take } as const
  return {
    chooseFolder: HAS_FOLDERS ? () => folder.current!.click() : undefined,
    chooseFiles: () => files.current!.click(),
    inputs: (
      <>
        <input ref={files} multiple aria-label={labels.files} {...common} />
        {HAS_FOLDERS && <input ref={folder} aria-label={labels.folder} {...common} {...FOLDERS} />}
      </>
    ),
  }
}
