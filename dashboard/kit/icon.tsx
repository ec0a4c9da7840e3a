const DRAWINGS = {
  archive: 'M4 7h16v12H4zM4 7l2-3h12l2 3M10 11h4',
  audio: 'M9 18V6l10-2v12M9 18a3 3 0 1 1-3-3 3 3 0 0 1 3 3zm10-2a3 3 0 1 1-3-3 3 3 0 0 1 3 3z',
  check: 'M5 13l4 4 10-11',
  clock: 'M12 7v5l3 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  document: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  down: 'M6 9l6 6 6-6',
  download: 'M12 4v11M7 10l5 5 5-5M4 19h16',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  files: 'M13 3H6v18h12V8zM13 3v5h5M12 11.5v5M9.5 14h5',
  folder: 'M3 6h6l2 2h10v11H3z',
  globe: 'M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0zM3 12h18M12 3c3 3 3 15 0 18-3-3-3-15 0-18z',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  leave: 'M14 5h5v14h-5M10 8l-4 4 4 4M6 12h9',
  lock: 'M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3',
  more: 'M5 11.5v1M12 11.5v1M19 11.5v1',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  page: 'M4 5h16v14H4zM4 9h16M7 7h.01',
  restore: 'M4 5v5h5M4.6 10a8 8 0 1 1-.6 4',
  search: 'M11 18a7 7 0 1 1 0-14 7 7 0 0 1 0 14zM20 20l-4-4',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  upload: 'M12 16V5M7 10l5-5 5 5M4 19h16',
  video: 'M4 6h16v12H4zM10 9.5v5l4.5-2.5z',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  wrong: 'M6 6l12 12M18 6L6 18',
} as const

export type IconName = keyof typeof DRAWINGS

/** A decorative icon beside text, hidden from assistive technology. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={DRAWINGS[name]} />
    </svg>
  )
}
