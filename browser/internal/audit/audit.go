// Package audit finds what makes a page hard to read or to use: by its styles as the browser
// has computed them, and by the tree that the browser gives to assistive technology.
package audit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"github.com/howdah/howdah/browser/internal/chrome"
)

//go:embed audit.js
var script string

// Look returns what is wrong with the page of a tab, a sentence each.
func Look(tab *chrome.Tab) (wrong []string, err error) {
	if err := tab.Eval(script, &wrong); err != nil {
		return nil, err
	}
	found, err := lookAtTree(tab)
	return append(wrong, found...), err
}

// named are the roles that need a name.
var named = []string{
	"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "image", "img", "table", "dialog", "heading",
	"navigation", "article", "columnheader", "rowheader", "DisclosureTriangle", "listbox",
}

// onceEach are the landmarks that every page has.
var onceEach = []string{"banner", "main", "contentinfo"}

// lookAtTree looks at what assistive technology is given.
func lookAtTree(tab *chrome.Tab) (wrong []string, err error) {
	tree, err := chromedp.Call(tab.Context(), accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, node := range tree.Nodes {
		if node.Ignored {
			continue
		}
		role := text(node.Role)
		count[role]++
		if slices.Contains(named, role) && text(node.Name) == "" {
			wrong = append(wrong, "a "+role+" has no name")
		}
	}
	for _, role := range onceEach {
		if count[role] != 1 {
			wrong = append(wrong, fmt.Sprintf("%d landmarks %s", count[role], role))
		}
	}
	return wrong, nil
}

func text(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	var s string
	_ = json.Unmarshal(value.Value, &s) // what is no text has none
	return s
}
