const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'holdfast-theme';
const WORDS: Readonly<Record<Theme, string>> = { auto: 'Theme: automatic', light: 'Theme: light', dark: 'Theme: dark' };

/**
 * Switches between the light and the dark theme. The browser keeps the choice; without one the system's theme applies.
 */
export function offerThemes(button: HTMLButtonElement): void {
  let theme = remembered();
  const show = () => {
    document.documentElement.dataset['theme'] = theme;
    button.textContent = WORDS[theme];
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
    remember(theme);
    show();
  });
  show();
}

function remembered(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === kept) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The browser may forbid storage. The theme then lasts as long as the page.
  }
}
