import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import type { Selection } from './selection.ts'

interface DropBoxProps {
  title: string
  /** For phones, which cannot drag. */
  phoneTitle: string
  /** Below the buttons. */
  children?: ComponentChildren
  size: 'page' | 'panel'
  onPicked: (picked: Selection) => void
}

/** A drop zone with buttons for pickers. */
export function DropBox({ title, phoneTitle, children, size, onPicked }: DropBoxProps) {
  return (
    <div class={`drop-box ${size}`}>
      <Icon name="upload" size={size === 'page' ? 40 : 28} />
      <p class="title">{HAS_FOLDERS ? title : phoneTitle}</p>
      <PickButtons onPicked={onPicked} />
      {children}
    </div>
  )
}

/** Phones have no folder picker and do not know the attribute. */
const HAS_FOLDERS =
  'webkitdirectory' in HTMLInputElement.prototype && !matchMedia('(pointer: coarse)').matches

/** An attribute that is missing in the types. */
const FOLDERS: object = { webkitdirectory: true }

function PickButtons({ onPicked }: { onPicked: (picked: Selection) => void }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const picked = [...(currentTarget.files ?? [])]
    currentTarget.value = ''
    // An empty folder was picked.
    if (picked.length > 0 || currentTarget === folder.current) onPicked({ entries: [], files: picked })
  }
  return (
    <div class="choices">
      {HAS_FOLDERS && (
        <Button variant="main" icon="folder" onClick={() => folder.current!.click()}>
          Choose a folder
        </Button>
      )}
      <Button variant={HAS_FOLDERS ? 'plain' : 'main'} icon="files" onClick={() => files.current!.click()}>
        Choose files or a ZIP
      </Button>
      <input ref={files} type="file" multiple hidden aria-label="Files or a ZIP" onChange={take} />
      {HAS_FOLDERS && (
        <input ref={folder} type="file" hidden aria-label="A folder" onChange={take} {...FOLDERS} />
      )}
    </div>
  )
}
