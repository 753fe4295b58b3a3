'use client'
// Light, dark, or as the system has it. Kept in a cookie, so that the server already sends the right one.
import { createContext, type ReactNode, use, useState } from 'react'
import { THEME_COOKIE, type Theme } from './preferences'

const Context = createContext<[Theme, (theme: Theme) => void]>(['system', () => {}])

export const useTheme = () => use(Context)

export function ThemeProvider({ theme: given, children }: { theme: Theme; children: ReactNode }) {
  const [theme, setTheme] = useState(given)
  function choose(chosen: Theme) {
    setTheme(chosen)
    if (chosen === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = chosen
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere yet
    document.cookie = `${THEME_COOKIE}=${chosen}; path=/; max-age=31536000; samesite=lax`
  }
  return <Context value={[theme, choose]}>{children}</Context>
}
